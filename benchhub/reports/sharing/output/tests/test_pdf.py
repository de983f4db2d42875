"""Readers of links ask for PDFs, all at once."""

import threading
from dataclasses import replace

import pytest

from benchhub.reports.sharing.output import pdf, turns


def test_those_who_wait_for_a_pdf_leave_threads_to_others(monkeypatch):
    monkeypatch.setattr(pdf, "PRINTS", replace(pdf.PRINTS, lock=threading.Lock(), places=threading.BoundedSemaphore(2)))
    monkeypatch.setattr(turns, "PATIENCE_S", 240)  # who waits does so until it is their turn
    is_waiting, refused, printed = threading.Event(), list[str](), list[int]()

    def wait():
        is_waiting.set()
        with pdf.PRINTS.turn():
            printed.append(1)

    with pdf.PRINTS.turn():
        waiter = threading.Thread(target=wait)
        waiter.start()
        is_waiting.wait(60)
        while pdf.PRINTS.places.acquire(blocking=False):  # until the one who waits has the last place
            pdf.PRINTS.places.release()
        for _ in range(5):
            with pytest.raises(pdf.NoPdfError) as error, pdf.PRINTS.turn():
                printed.append(2)
            refused.append(str(error.value))
    waiter.join(60)
    assert refused == [pdf.BUSY] * 5
    assert printed == [1]
    with pdf.PRINTS.turn():
        printed.append(3)
    assert printed == [1, 3]
