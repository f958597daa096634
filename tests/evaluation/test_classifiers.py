"""A classifier learns from labelled text what that text says about its labels, and nothing else."""

import random
from pathlib import Path

import pytest
import torch
import travel

from adept.data.corpus import Corpus, DataConfig, load, read_corpus
from adept.errors import ConfigurationError, DataError
from adept.evaluation.classifiers import check_files_fit, evaluate, predict
from adept.evaluation.text_classifier import TfidfClassifier


@pytest.mark.parametrize("classifier", ["text", "tfidf"])
def test_a_classifier_beats_the_majority_on_real_text_and_not_on_shuffled_labels(classifier: str) -> None:
    splits = load(DataConfig(sizes=[1500, 10, 400]))
    train = splits["train"]
    honest = evaluate(train, splits["test"], classifier=classifier)
    assert honest.accuracy.value > honest.majority_accuracy + 0.1
    shuffled = random.Random(0).sample(train.labels or [], k=len(train))
    chance = evaluate(Corpus(train.texts, shuffled), splits["test"], classifier=classifier)
    assert chance.accuracy.value <= chance.majority_accuracy + 0.02
    assert honest.accuracy.low <= honest.accuracy.value <= honest.accuracy.high


def test_the_lstm_learns_the_labels_too_and_is_repeatable() -> None:
    splits = travel.balanced(600, 10, 200)
    first = evaluate(splits["train"], splits["test"], classifier="lstm", seed=3)
    assert first.accuracy.value > 5 * first.majority_accuracy
    few, unseen = Corpus(splits["train"].texts[:100], (splits["train"].labels or [])[:100]), splits["test"].texts
    again, once, other = (predict(few, unseen, classifier="lstm", seed=seed) for seed in (3, 3, 4))
    assert again == once != other
    odd = evaluate(Corpus(["a b", "", "c"], ["x", "y", "x"]), Corpus(["", "zebra"], ["x", "y"]), classifier="lstm")
    assert odd.test_records == 2


def test_a_word_that_training_text_lacks_is_read_as_the_most_like_one_that_it_holds() -> None:
    train = Corpus(["rent a car", "play some music", "rent the car", "play this music"] * 2, ["car", "music"] * 4)
    test = Corpus(["vehicle", "automobiles", "songs", "melodies"], ["car", "car", "music", "music"])
    assert evaluate(train, test, classifier="tfidf").accuracy.value == 1.0
    assert evaluate(train, Corpus(["qqqq", "xyzzyx"], ["car", "music"]), classifier="tfidf").accuracy.value == 0.5


def test_what_training_text_never_said_is_read_by_what_its_words_mean() -> None:
    """No word of the test is in training, so that TF-IDF alone can only guess."""
    train = Corpus(["stocks and bank loans", "guitar and piano songs", "rain and snow", "soup and bread"], [*"mpwf"])
    reader = TfidfClassifier(train)
    weights = reader.fit(strength=4.0)
    unsaid = ["payroll", "dancer", "thaw", "lunch"]
    assert reader.predict(unsaid, weights) == [*"mpwf"]


def test_text_of_another_language_is_read_by_tf_idf_alone() -> None:
    texts = ["ich möchte früh aufstehen", "spiele bitte etwas musik", "wie wird das wetter morgen", "stell es ab"]
    german = TfidfClassifier(Corpus(texts, [*"abca"]))
    english = TfidfClassifier(Corpus(["wake me", "play music"], [*"ab"]))
    words = german._tfidf.transform(texts).toarray()
    [(rows, _)] = german._features.blocks
    assert torch.equal(rows.to_dense(), torch.from_numpy(words))
    assert len(english._features.blocks) == 2
    assert german.predict(texts, german.fit(strength=64.0)) == [*"abca"]


def test_empty_texts_and_a_single_label_are_handled() -> None:
    test = Corpus(["a", ""], ["x", "y"])
    assert evaluate(Corpus(["a", ""], ["x", "x"]), test).accuracy.value == 0.5
    assert evaluate(Corpus(["a b", ""], ["x", "y"]), test).test_records == 2
    with pytest.raises(DataError, match="empty"):
        evaluate(Corpus(["", ""], ["x", "y"]), test)


def test_missing_labels_and_unknown_classifiers_are_refused() -> None:
    labelled, unlabelled = Corpus(["a", "b"], ["x", "y"]), Corpus(["a"])
    for train, test, name in ((unlabelled, labelled, "train"), (labelled, unlabelled, "test")):
        with pytest.raises(DataError, match=f"{name} must have labels"):
            evaluate(train, test)
    with pytest.raises(ConfigurationError, match="classifier must be"):
        evaluate(labelled, labelled, classifier="bert")


def test_noisy_labels_call_for_a_simpler_classifier_and_tuning_finds_it() -> None:
    """With .3 of the labels left as they were, C of 30 loses some ten points to the C that cross-validation chooses."""
    splits = travel.balanced(1500, 10, 400)
    train, test = splits["train"], splits["test"]
    rng, names = random.Random(0), sorted(set(train.labels or []))
    noisy = [label if rng.random() < 0.3 else rng.choice(names) for label in train.labels or []]
    reader = TfidfClassifier(Corpus(train.texts, noisy))
    fixed = reader.predict(test.texts, reader.fit(strength=30.0))
    assert reader.tune() < 4.0 <= TfidfClassifier(train).tune()
    tuned = evaluate(Corpus(train.texts, noisy), test, classifier="tfidf").accuracy.value
    assert tuned > sum(a == b for a, b in zip(fixed, test.labels or [], strict=True)) / len(test) + 0.05


@pytest.mark.parametrize("kept", [0.125, 0.5])
def test_labels_that_are_often_wrong_call_for_a_simple_classifier(kept: float) -> None:
    """One label in eight is kept: too few hits differ to tell strengths apart. One in two: 2 is likelier than 1 until the scores
    of 1, which are smaller, are multiplied by what suits them."""
    train = travel.balanced(1500, 10, 10)["train"]
    names = sorted(set(train.labels or []))
    for seed in range(2):
        rng = random.Random(seed)
        noisy = [label if rng.random() < kept else rng.choice(names) for label in train.labels or []]
        assert TfidfClassifier(Corpus(train.texts, noisy)).tune() <= 1.0


def test_copies_of_a_text_stay_in_one_fold_of_cross_validation() -> None:
    """Five copies of meaningless texts: folds that split them, whosever they are, would let the largest C remember."""
    rng = random.Random(1)
    texts = [" ".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(300)]
    labels = [rng.choice("xyyy") for _ in texts]
    copies = Corpus([t for t in texts for _ in range(5)], [c for c in labels for _ in range(5)])
    assert TfidfClassifier(copies, samples=5).tune() <= 4.0
    assert TfidfClassifier(copies, samples=1).tune() <= 4.0


@pytest.mark.parametrize("classifier", ["text", "tfidf"])
def test_thousands_of_records_of_two_texts_are_no_error(classifier: str) -> None:
    """Descriptions are that few at epsilon 2: the fold that judges must hold a text, wherever the texts come first."""
    texts, labels = ["ours flights", "song tune"], ["flight", "music"]
    for change in range(1, 12):
        order = [0] * change + [1] * (2_000 - change)
        records = Corpus([texts[i] for i in order], [labels[i] for i in order])
        assert set(predict(records, texts, classifier=classifier)) <= set(labels)


def test_a_rare_label_is_recognised_in_noise_unless_labels_are_noisy_themselves() -> None:
    """One record in ten is y and says b; nearly half of the words are drawn again, so that b is said more often by x."""
    texts, labels = ["a"] * 697 + ["b"] * 203 + ["a"] * 22 + ["b"] * 78, ["x"] * 900 + ["y"] * 100
    said = Corpus(["a", "b"], ["x", "y"])
    for noisy, hits in ((False, 1.0), (True, 0.5)):
        assert evaluate(Corpus(texts, labels), said, noisy_labels=noisy).accuracy.value == hits


def test_equal_rows_count_as_often_as_they_occur() -> None:
    train = Corpus(["a"] * 5 + ["a"] * 4 + ["b"] * 3, ["x"] * 5 + ["y"] * 4 + ["z"] * 3)
    assert evaluate(train, Corpus(["a", "b"], ["x", "z"])).accuracy.value == 1.0


def corpus(**labels: str) -> Corpus:
    return Corpus([text.replace("_", " ") for text in labels], list(labels.values()))


def test_labels_that_training_lacks_are_named_and_counted() -> None:
    train = corpus(play="music", wake_me="alarm")
    test = corpus(play_it="music", rain="weather", snow="weather", buy="Music")
    [note, spelled] = check_files_fit({"a.csv": train}, test, name="b.csv")
    assert spelled == "labels that differ in case, spaces or unseen letters alone count as different: 'Music', 'music'"
    assert note == "3 of 4 records of b.csv have labels that a.csv lacks ('Music', 'weather')"
    assert check_files_fit({"a.csv": train, "c.csv": corpus(rain_it="weather", buy_it="Music")}, test) == [spelled]
    with pytest.raises(DataError, match=r"no label in common \('alarm', 'music'; 'MUSIC'\): spell them alike$"):
        check_files_fit({"a": train}, corpus(rain="MUSIC"))
    many = corpus(play_it="music", **{f"text_{i}": f"label {i}" for i in range(9)})
    [note] = check_files_fit({"a": train}, many)
    assert note.endswith("'label 4' and 4 more)")
    [note] = check_files_fit({"a": train}, corpus(play_it="music", rain="x" * 10_000))
    assert len(note) < 200


@pytest.mark.parametrize(
    "other", ["music\u200b", "\ufeffmusic", "mu\u00adsic", "\u202bmusic\u202c", "ｍｕｓｉｃ", "music\u00a0", "MUSIC"]
)
def test_labels_that_look_alike_are_named(other: str) -> None:
    train, test = corpus(play="music", rain="weather"), corpus(play_it="music", sing=other)
    assert any("count as different" in note and repr("music") in note for note in check_files_fit({"a": train}, test))
    with pytest.raises(DataError, match="spell them alike"):
        check_files_fit({"a": corpus(play="music")}, corpus(sing=other))


def test_labels_that_a_program_wrote_for_missing_values_or_lists_are_named() -> None:
    odd = ["nan", "NaN", "None", "NULL", "N/A", "<NA>", "['a', 'b']", '{"choices": ["a"]}', "[]"]
    train = corpus(**{f"text_{number}": label for number, label in enumerate(odd)}, rain="weather")
    assert check_files_fit({"a": train}, train)[-1] == (
        "labels that look like a missing value or a list count like any other: "
        "'<NA>', 'N/A', 'NULL', 'NaN', 'None' and 4 more"
    )
    named = corpus(play="music", rain="none", snow="a [b]", hail="native", wind="[a] b")
    assert len(check_files_fit({"a": named}, named)) == 1


def test_test_texts_that_training_holds_are_counted_whatever_their_case_and_spaces() -> None:
    train = Corpus(["Play  a song", "straße", "rain", "caf\u00e9"], ["m", "s", "w", "w"])
    test = Corpus(["play a Song ", "STRASSE", "play a\u200b song", "snow", "cafe\u0301"], ["m", "s", "m", "w", "w"])
    [note] = check_files_fit({"a": train}, test, name="b")
    assert note == "4 of 5 texts of b also occur in a, apart from case and spaces"


def test_copies_in_a_test_file_are_counted_as_they_narrow_the_interval() -> None:
    train, test = corpus(play="music", rain="weather"), Corpus(["sing"] * 3 + ["Sing ", "snow"], [*"mmmm", "weather"])
    notes = check_files_fit({"a": train}, test, name="b")
    assert "3 of 5 texts of b are copies of others, but count as new ones: the intervals are too narrow" in notes
    few = Corpus(["sing", "sing", "snow", "hail", "wind"], [*"mm", *["weather"] * 3])
    assert not any("copies" in note for note in check_files_fit({"a": train}, few, name="b"))


def test_files_without_a_common_label_or_without_labels_are_refused() -> None:
    train, test = corpus(play="music"), corpus(rain="weather")
    with pytest.raises(DataError, match=r"a and b have no label in common \('music'; 'weather'\)"):
        check_files_fit({"a": train}, test, name="b")
    unlabelled = Corpus(["rain"])
    with pytest.raises(DataError, match=r"^b must have labels: rename its column of labels as in a$"):
        check_files_fit({"a": train, "b": unlabelled}, train)
    with pytest.raises(DataError, match=r"^a must have labels: name their column with label_column=$"):
        check_files_fit({"a": unlabelled}, unlabelled)
    for files, named in (({"a.txt": unlabelled}, "a.txt"), ({"a": train, "b.TXT.gz": unlabelled}, "b.TXT.gz")):
        with pytest.raises(DataError, match=rf"^{named} must have labels: a txt file holds texts alone, so give a csv"):
            check_files_fit(files, unlabelled)


def test_a_file_without_labels_is_refused_with_the_names_of_its_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,topic\nrain,weather\n")
    read = read_corpus(str(tmp_path / "a.csv"))
    advice = "no column named 'intent' in train; the columns are 'text', 'topic': add label_column=topic"
    for ask in (lambda: evaluate(read, read), lambda: check_files_fit({"train": read}, read)):
        with pytest.raises(DataError, match=f"^{advice}$"):
            ask()
    with pytest.raises(DataError, match="rename its column of labels as in train"):  # label_column= would lose train's
        check_files_fit({"train": corpus(play="music")}, read)


@pytest.mark.parametrize("classifier", ["text", "tfidf", "lstm"])
def test_text_without_spaces_is_classified_by_its_characters(classifier: str) -> None:
    places = ["北京", "上海", "广州", "成都", "武汉", "西安", "南京", "杭州", "重庆", "天津", "苏州", "长沙"]
    texts = [said.format(place) for place in places for said in ("播放{}的歌曲", "{}会下雨吗")]
    labelled = Corpus(texts, ["music", "weather"] * len(places))
    train, test = labelled.take(range(16)), labelled.take(range(16, 24))
    assert evaluate(train, test, classifier=classifier).accuracy.value == 1.0


def test_texts_without_letters_and_labels_of_their_own_are_noted() -> None:
    """As after text_column=id or label_column=id, where scores are low and nothing else looks wrong."""
    numbers = Corpus([str(place) for place in range(30)], ["fare", "seat", "meal"] * 10)
    spoken = Corpus([f"a fare to gate {place}" for place in range(30)], [f"id {place}" for place in range(30)])
    few = Corpus(["a fare", "a seat", "a meal"], ["fare", "seat", "meal"])
    assert check_files_fit({"a": numbers}, few, name="b") == [
        "30 of 30 texts of a have no letter: text_column= names texts"
    ]
    assert (
        check_files_fit({"a": spoken}, spoken.take([1]))[-1]
        == "30 texts of a have 30 labels: label_column= names labels"
    )
    assert check_files_fit({"a": few}, Corpus(["pay", "sit"], ["fare", "seat"])) == []
