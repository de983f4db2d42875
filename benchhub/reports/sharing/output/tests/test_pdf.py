"""Readers of links ask for PDFs, all at once."""

import threading

import pytest

from benchhub.reports.sharing.output import pdf


def test_those_who_wait_for_a_pdf_leave_threads_to_others(monkeypatch):
    places = 2
    monkeypatch.setattr(pdf, "PLACES", threading.BoundedSemaphore(places))
    monkeypatch.setattr(pdf, "ONE", threading.Lock())
    is_waiting, refused, printed = threading.Event(), list[str](), list[int]()

    def wait():
        is_waiting.set()
        with pdf.turn():
            printed.append(1)

    with pdf.turn():
        waiter = threading.Thread(target=wait)
        waiter.start()
        is_waiting.wait(10)
        while pdf.PLACES.acquire(blocking=False):  # until the one who waits has the last place
            pdf.PLACES.release()
        for _ in range(5):
            with pytest.raises(pdf.NoPdfError) as error, pdf.turn():
                printed.append(2)
            refused.append(str(error.value))
    waiter.join(10)
    assert refused == [pdf.BUSY] * 5
    assert printed == [1]
    with pdf.turn():
        printed.append(3)
    assert printed == [1, 3]
