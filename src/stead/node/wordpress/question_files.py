"""Fetches the files that sites get with questions. Few at a time: they are in memory for a moment."""

import shutil
import tempfile
from pathlib import Path

from stead.node import transfer
from stead.node.drivers.driver import Refusal
from stead.node.fair_places import FairPlaces
from stead.node.uninterrupted import run_in_thread
from stead.protocol.questions import MAX_FILE_BYTES, REFUSED, Question

AT_ONCE, PER_OWNER = 4, 1


class QuestionFiles:
    def __init__(self, scratch: Path) -> None:
        self._scratch, self._places = scratch, FairPlaces(AT_ONCE, PER_OWNER)

    async def fetch(self, question: Question) -> bytes:
        """Raises Refusal if the file is missing or too large."""
        async with self._places.take(question.owner or question.environment):
            folder = await run_in_thread(self._make_folder)
            try:
                path = folder / "file"
                await transfer.get(question.file, path, max_bytes=MAX_FILE_BYTES)
                content = await run_in_thread(path.read_bytes)
            except transfer.TooLarge:
                raise Refusal(REFUSED, f"the file is larger than {MAX_FILE_BYTES} bytes") from None
            except transfer.TransferFailed:
                raise Refusal(REFUSED, "the upload cannot be read; send the file first") from None
            finally:
                await run_in_thread(shutil.rmtree, folder, True)
        if not content:
            raise Refusal(REFUSED, "the file is empty")
        return content

    def clear(self) -> None:
        """Remove what questions that were interrupted have left. Blocks."""
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _make_folder(self) -> Path:
        self._scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=self._scratch))
