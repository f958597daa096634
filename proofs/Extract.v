(** The checker and the sampler as OCaml programs; [driver.ml] reads their inputs. Numbers stay those of Coq, bit by bit: only
    truth values, pairs, options and lists become OCaml's own. *)

From Coq Require Import Extraction ExtrOcamlBasic.
From Adept Require Import Checker Sampler Draws.

Extraction Language OCaml.
Extraction "extracted.ml" accepts_symbols accepts_laplace draw_below below_each draw_symbol draw_pair
  noisy_values to_grid tally.
