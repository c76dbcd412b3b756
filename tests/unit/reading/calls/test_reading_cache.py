from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from interpose.reading.calls.reading_cache import MAX_ENTRY_BYTES, ReadingCache


def test_the_least_recently_used_goes_first() -> None:
    answers: ReadingCache[int] = ReadingCache(max_entries=2)
    answers.put("a", 1, 1)
    answers.put("b", 2, 1)
    assert answers.get("a") == 1
    answers.put("c", 3, 1)
    assert (answers.get("a"), answers.get("b"), answers.get("c")) == (1, None, 3)


def test_bounded_in_bytes() -> None:
    answers: ReadingCache[int] = ReadingCache(max_bytes=100)
    for index in range(50):
        answers.put(index, index, 30)
    assert len(answers) == 3
    assert answers.get(49) == 49


def test_replacing_does_not_count_twice() -> None:
    answers: ReadingCache[int] = ReadingCache(max_bytes=100)
    for _ in range(50):
        answers.put("same", 1, 60)
    answers.put("other", 2, 40)
    assert len(answers) == 2


def test_what_is_too_long_is_not_kept() -> None:
    answers: ReadingCache[int] = ReadingCache()
    answers.put("long", 1, MAX_ENTRY_BYTES + 1)
    assert answers.get("long") is None


def test_threads_see_only_their_own_answers() -> None:
    answers: ReadingCache[str] = ReadingCache(max_entries=16)

    def work(worker: int) -> bool:
        right = True
        for turn in range(500):
            key = (worker, turn % 20)
            known = answers.get(key)
            right = right and known in (None, f"{worker}-{turn % 20}")
            answers.put(key, f"{worker}-{turn % 20}", 10)
        return right

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
    assert len(answers) <= 16
