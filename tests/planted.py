"""Defects that are planted in the definitions and claims of the proofs, one at a time: Coq must refuse each of them."""

from typing import NamedTuple


class Plant(NamedTuple):
    """One change of one source.

    Attributes:
        says: the defect, in words.
        file: the source's name without its ending.
        old: what stands there once.
        new: what stands there instead.
    """

    says: str
    file: str
    old: str
    new: str


PLANTS = (
    Plant(
        "t + 1 heavy symbols for one record only",
        "Symbols",
        "Prop := length (filter heavy alphabet) = t.",
        "Prop := length (filter heavy alphabet) = t \\/ length (filter heavy alphabet) = S t.",
    ),
    Plant(
        "weight zero for one symbol of one record",
        "Symbols",
        "numbers k A B (own [place x]).",
        "fun s => if ((s =? 0) && (place x =? 1))%nat then 0 else numbers k A B (own [place x]) s.",
    ),
    Plant(
        "another label counts as the own one",
        "Symbols",
        "heavy (fst s) && (snd s =? c)%nat.",
        "heavy (fst s) && ((snd s =? c) || (snd s =? 0))%nat.",
    ),
    Plant(
        "the text alone is said to tell less than it does",
        "Symbols",
        "IZR (A + (Z.of_nat L - 1) * B) <= exp epsilon * IZR (Z.of_nat L * B) ->",
        "IZR (A + (Z.of_nat L - 1) * B) <= exp epsilon * IZR (Z.of_nat L * B + B) ->",
    ),
    Plant(
        "copied labels are said to be hidden",
        "Symbols",
        "private epsilon (fun x x' => copied x = copied x') label_aware.",
        "private epsilon (fun x x' => True) label_aware.",
    ),
    Plant(
        "two releases are said to cost no more than the dearer one",
        "Privacy",
        "close (e1 + e2) (then_ p1 p2) (then_ q1 q2).",
        "close (Rmax e1 e2) (then_ p1 p2) (then_ q1 q2).",
    ),
    Plant(
        "noise of scale D / (2 epsilon)",
        "Noise",
        "(inject_Z D / epsilon / unit)",
        "(inject_Z D / (2 * epsilon) / unit)",
    ),
    Plant("the scale is rounded down", "Noise", "(inject_Z (Qceiling (", "(inject_Z (Qfloor ("),
    Plant(
        "m + 1 votes for one person", "Noise", "(length (rule rows) <= m)%nat.", "(length (rule rows) <= m + 1)%nat."
    ),
    Plant(
        "persons that are replaced count once",
        "Noise",
        "2 * INR m / b <= epsilon ->\n  private epsilon replace_one",
        "INR m / b <= epsilon ->\n  private epsilon replace_one",
    ),
    Plant(
        "noise is cut off at the end of the range already",
        "Noise",
        "(2 * limit <= z /\\ 2 * limit <= z')%Z",
        "(limit <= z /\\ limit <= z')%Z",
    ),
    Plant("terms are rounded up", "Exponential", "(term * p / (q * i))%Z.", "((term * p + q * i - 1) / (q * i))%Z."),
    Plant("terms without a factorial", "Exponential", "(term * p / (q * i))%Z.", "(term * p / q)%Z."),
    Plant(
        "the published mechanism is refuted for n = 1 too",
        "Papers",
        "(2 <= n)%nat -> (2 ^ 20",
        "(1 <= n)%nat -> (2 ^ 20",
    ),
    Plant(
        "the l1 diameter without sqrt(n)",
        "Papers",
        "within n (2 * Z.sqrt (Z.of_nat n * Q)) x",
        "within n (2 * Z.sqrt Q) x",
    ),
    Plant("light weights above the heavy ones pass", "Checker", " && (light c <=? heavy c)", ""),
    Plant("one bit too few passes", "Checker", "Z.log2 n + 1.", "Z.log2 n."),
    Plant(
        "a label's epsilon is not looked at",
        "Checker",
        "&& at_most_e_to (label_epsilon c)",
        "|| at_most_e_to (label_epsilon c)",
    ),
    Plant("the radius passes as the diameter", "Checker", "clipped_l1 => 2 * l1_radius c", "clipped_l1 => l1_radius c"),
    Plant("replacing a person passes as removing one", "Checker", "(if persons_replaced c then 2 else 1)", "1"),
    Plant("latents without a coordinate pass", "Checker", "| _ => 0 <? dim c end", "| _ => true end"),
    Plant(
        "the total itself is accepted as a number",
        "Sampler",
        "in draw (fun word => word <? total)",
        "in draw (fun word => word <=? total)",
    ),
    Plant(
        "one heavy number goes to a light rank",
        "Sampler",
        "if number <? near * heavy then",
        "if number <? near * heavy - 1 then",
    ),
    Plant("an own number comes out as another one", "Sampler", "if a <=? p then p + 1", "if a <? p then p + 1"),
    Plant(
        "no word is rejected", "Sampler", "draw (fun word => 2 ^ bits mod bound <=? word)", "draw (fun word => true)"
    ),
    Plant(
        "the first failure may have an even number",
        "DiscreteLaplace",
        "all_succeed g (2 * i) - all_succeed g (2 * i + 1).",
        "all_succeed g (2 * i + 1) - all_succeed g (2 * i + 2).",
    ),
    Plant("zero is counted twice", "DiscreteLaplace", "(minus && (y =? 0)%nat)%bool", "(minus && (y =? 1)%nat)%bool"),
    Plant(
        "the floor of delta forgets the light weight",
        "Shuffling",
        "t' / W * (IZR A - exp c * IZR B) *",
        "t' / W * IZR A *",
    ),
    Plant(
        "the floor of the claim has a record too few",
        "Shuffling",
        "(t' / W + (1 - k / W)) ^ (n - 1) <=",
        "(t' / W + (1 - k / W)) ^ (n - 2) <=",
    ),
    Plant(
        "replacing a person in two rounds costs as little as removing one",
        "Noise",
        "replace_one file file' /\\ 2 * INR m / b1",
        "replace_one file file' /\\ INR m / b1",
    ),
    Plant(
        "another row costs as little as one row more",
        "Noise",
        "private (4 * epsilon / s) another_row",
        "private (2 * epsilon / s) another_row",
    ),
    Plant("the first light symbol counts as heavy", "Draws", "if rank <? t then nth", "if rank <=? t then nth"),
    Plant(
        "text and label change places",
        "Draws",
        ": Z * Z := (index mod k, index / k).",
        ": Z * Z := (index / k, index mod k).",
    ),
    Plant(
        "a person has one row too many",
        "Draws",
        "had <? allowed person)%nat then (person",
        "had <=? allowed person)%nat then (person",
    ),
    Plant(
        "a latent one step too long fits",
        "Draws",
        "list Z := (norm l1 units <=? radius, units).",
        "list Z := (norm l1 units <=? radius + 1, units).",
    ),
    Plant(
        "one word too many is refused",
        "Draws",
        "read_again tape (fun word => word <? least)",
        "read_again tape (fun word => word <=? least)",
    ),
    Plant("the noise ends at nine scales", "Draws", "fun uv => Z.min (2 ^ 62) (", "fun uv => Z.min (9 * t) ("),
)
