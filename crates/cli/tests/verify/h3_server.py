# An HTTP/3 server made with aioquic, which accepts early data (0-RTT). Arguments: a folder with the files cert and key.
# The path /events is answered by a stream of 20 events, one every 20 ms.
# The first line of the output is the address. The number of requests is in the file `asked` of the folder, and is renewed
# every 20 ms.
import asyncio
import os
import sys

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.buffer import encode_uint_var
from aioquic.h3.connection import H3_ALPN, FrameType, H3Connection, encode_frame
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated

folder = sys.argv[1]
asked = 0
resettable = 0
# Sessions that clients may resume, each once.
sessions = {}


class Server(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http, self.paths = None, {}
        # Number of requests on this connection, the first stream that is not processed, and the streams that were answered.
        self.requests, self.limit, self.answered = 0, None, []

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        if self.http is None:
            return
        for http_event in self.http.handle_event(event):
            if isinstance(http_event, HeadersReceived):
                self.paths.setdefault(http_event.stream_id, dict(http_event.headers).get(b":path"))
            if isinstance(http_event, (HeadersReceived, DataReceived)) and http_event.stream_ended:
                if self.limit is None or http_event.stream_id < self.limit:
                    self.answer(http_event.stream_id)
        self.transmit()

    def answer(self, stream):
        global asked, resettable
        asked += 1
        self.requests += 1
        self.answered.append(stream)
        path = self.paths.pop(stream)
        resettable += path == b"/reset"
        if path == b"/goaway" and self.requests == 20:
            self.go_away(stream)
        if path == b"/close" and asked > 1:
            self.close(error_code=0x102, reason_phrase="the disk is full")
        elif path == b"/events":
            asyncio.ensure_future(self.send_events(stream))
        elif path == b"/reset" and resettable % 3 == 0:
            self._quic.reset_stream(stream, 0x10C)
        else:
            self.http.send_headers(stream, [(b":status", b"200"), (b"x-server", b"aioquic")])
            self.http.send_data(stream, b"x" * 3000, end_stream=True)

    async def send_events(self, stream):
        self.http.send_headers(stream, [(b":status", b"200"), (b"content-type", b"text/event-stream")])
        for event in range(20):
            await asyncio.sleep(0.02)
            data = b"data: [DONE]\n\n" if event == 19 else b"data: %d\n\n" % event
            self.http.send_data(stream, data, end_stream=event == 19)
            self.transmit()

    # Ends the connection after the requests that were answered or precede one of them.
    def go_away(self, stream):
        self.limit = max([stream, *self.answered]) + 4
        frame = encode_frame(FrameType.GOAWAY, encode_uint_var(self.limit))
        self._quic.send_stream_data(self.http._local_control_stream_id, frame)


async def main():
    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    configuration.load_cert_chain(folder + "/cert", folder + "/key")
    server = await serve(
        "127.0.0.1",
        0,
        configuration=configuration,
        create_protocol=Server,
        session_ticket_fetcher=lambda ticket: sessions.pop(ticket, None),
        session_ticket_handler=lambda session: sessions.__setitem__(session.ticket, session),
    )
    host, port = server._transport.get_extra_info("sockname")[:2]
    print(f"{host}:{port}", flush=True)
    while True:
        with open(folder + "/new", "w") as file:
            file.write(str(asked))
        os.rename(folder + "/new", folder + "/asked")
        await asyncio.sleep(0.02)


asyncio.run(main())
