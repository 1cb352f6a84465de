from __future__ import annotations

from threading import Thread

from sordino.data.recent import Recent


def test_what_was_used_the_longest_ago_leaves_first() -> None:
    recent: Recent[str] = Recent(10)
    recent.put("a", "A", num_bytes=4)
    recent.put("b", "B", num_bytes=4)
    assert recent.get("a") == "A"
    recent.put("c", "C", num_bytes=4)
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == ("A", None, "C")
    assert recent.bytes_kept == 8


def test_what_is_too_large_is_not_kept_and_twice_counts_once() -> None:
    recent: Recent[str] = Recent(10)
    recent.put("a", "A", num_bytes=4)
    recent.put("a", "A", num_bytes=4)
    assert recent.bytes_kept == 4
    recent.put("b", "B", num_bytes=11)
    assert recent.get("b") is None
    assert recent.bytes_kept == 0


def test_threads_do_not_lose_count() -> None:
    recent: Recent[int] = Recent(50)

    def work(offset: int) -> None:
        for key in range(2_000):
            recent.put((key * 7 + offset) % 90, key, num_bytes=1)

    threads = [Thread(target=work, args=(offset,)) for offset in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recent.bytes_kept == sum(recent.get(key) is not None for key in range(90)) <= 50
