# gRPC server with reflection. A call of Place fails unless its message and its metadata have the expected content.
import time
from concurrent import futures

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from grpc_reflection.v1alpha import reflection

Field = descriptor_pb2.FieldDescriptorProto
shop = descriptor_pb2.FileDescriptorProto(
    name="shop.proto", package="shop", syntax="proto3", dependency=[timestamp_pb2.DESCRIPTOR.name])
order = shop.message_type.add(name="Order")
for number, (name, kind, label, of) in enumerate([
    ("id", Field.TYPE_INT64, Field.LABEL_OPTIONAL, None),
    ("names", Field.TYPE_STRING, Field.LABEL_REPEATED, None),
    ("at", Field.TYPE_MESSAGE, Field.LABEL_OPTIONAL, ".google.protobuf.Timestamp"),
    ("counts", Field.TYPE_MESSAGE, Field.LABEL_REPEATED, ".shop.Order.CountsEntry"),
], 1):
    order.field.add(name=name, number=number, type=kind, label=label, type_name=of)
entry = order.nested_type.add(name="CountsEntry")
entry.options.map_entry = True
entry.field.add(name="key", number=1, type=Field.TYPE_STRING, label=Field.LABEL_OPTIONAL)
entry.field.add(name="value", number=2, type=Field.TYPE_UINT32, label=Field.LABEL_OPTIONAL)
orders = shop.service.add(name="Orders")
orders.method.add(name="Place", input_type=".shop.Order", output_type=".shop.Order")
orders.method.add(name="Follow", input_type=".shop.Order", output_type=".shop.Order",
                  client_streaming=True, server_streaming=True)
pool = descriptor_pool.Default()
pool.AddSerializedFile(shop.SerializeToString())
Order = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


def place(order, context):
    content = (order.id, list(order.names), order.at.seconds, dict(order.counts))
    if content != (7, ["a", "b"], 86400, {"x": 3}):
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the message has another content")
    if ("key", "v") not in [tuple(pair) for pair in context.invocation_metadata()]:
        context.abort(grpc.StatusCode.UNAUTHENTICATED, "the metadata has no key")
    return order


def follow(orders, context):
    for order in orders:
        yield order
        time.sleep(0.003)


coding = (Order.FromString, Order.SerializeToString)
server = grpc.server(futures.ThreadPoolExecutor(4))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("shop.Orders", {
    "Place": grpc.unary_unary_rpc_method_handler(place, *coding),
    "Follow": grpc.stream_stream_rpc_method_handler(follow, *coding),
}),))
reflection.enable_server_reflection(("shop.Orders", reflection.SERVICE_NAME), server)
print("127.0.0.1:%d" % server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
server.wait_for_termination()
