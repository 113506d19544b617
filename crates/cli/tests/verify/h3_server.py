# An HTTP/3 server made with aioquic. Arguments: a folder with the files cert and key. The first line of the output is
# the address. The number of requests is in the file `asked` of the folder, and is renewed every 20 ms.
import asyncio
import os
import sys

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated

folder = sys.argv[1]
asked = 0


class Server(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http, self.paths = None, {}

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        if self.http is None:
            return
        for http_event in self.http.handle_event(event):
            if isinstance(http_event, HeadersReceived):
                self.paths.setdefault(http_event.stream_id, dict(http_event.headers).get(b":path"))
            if isinstance(http_event, (HeadersReceived, DataReceived)) and http_event.stream_ended:
                self.answer(http_event.stream_id)
        self.transmit()

    def answer(self, stream):
        global asked
        asked += 1
        path = self.paths.pop(stream)
        if path == b"/close" and asked > 1:
            self.close(error_code=0x102, reason_phrase="the disk is full")
        elif path == b"/reset" and asked % 3 == 0:
            self._quic.reset_stream(stream, 0x10C)
        else:
            self.http.send_headers(stream, [(b":status", b"200"), (b"x-server", b"aioquic")])
            self.http.send_data(stream, b"x" * 3000, end_stream=True)


async def main():
    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    configuration.load_cert_chain(folder + "/cert", folder + "/key")
    server = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=Server)
    host, port = server._transport.get_extra_info("sockname")[:2]
    print(f"{host}:{port}", flush=True)
    while True:
        with open(folder + "/new", "w") as file:
            file.write(str(asked))
        os.rename(folder + "/new", folder + "/asked")
        await asyncio.sleep(0.02)


asyncio.run(main())
