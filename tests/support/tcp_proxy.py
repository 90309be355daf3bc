"""A line to a server, which a test cuts, hangs or slows down."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Literal

Way = Literal["to the server", "from the server"]


class Line:
    """Passes bytes on, both ways.

    `cut` ends the connection at the n-th piece that goes one way, before it arrives. While it is
    `silent`, pieces that go from the server vanish and nobody is told.
    """

    def __init__(self) -> None:
        self.port = 0
        self.cut: tuple[Way, int] | None = None
        self.silent = False
        self.pause_seconds = 0.0
        self.cuts = 0

    async def pass_on(
        self, way: Way, reader: asyncio.StreamReader, *writers: asyncio.StreamWriter
    ) -> None:
        """Until either side ends, or the line is cut; the last writer is the other side."""
        with suppress(OSError):
            while piece := await reader.read(65_536):
                if self.cut and self.cut[0] == way:
                    self.cut = (way, self.cut[1] - 1)
                    if self.cut[1] < 1:
                        self.cut = None
                        self.cuts += 1
                        break
                await asyncio.sleep(self.pause_seconds)
                if not (self.silent and way == "from the server"):
                    writers[-1].write(piece)
                    await writers[-1].drain()
        for writer in writers:
            writer.close()


@asynccontextmanager
async def line_to(host: str, port: int) -> AsyncGenerator[Line]:
    """A line to that server, for as long as the block."""
    line = Line()
    tasks = set[asyncio.Task[None]]()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(host, port)
        for task in (
            asyncio.create_task(line.pass_on("to the server", reader, writer, back)),
            asyncio.create_task(line.pass_on("from the server", there, back, writer)),
        ):
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(meet, "127.0.0.1", 0)
    line.port = server.sockets[0].getsockname()[1]
    try:
        yield line
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
