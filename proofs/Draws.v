(** * The draws that run, as programs over tapes

    The one draw of a symbol, a pair of text and label, the rows that count for each person, the clip to the grid, and the noise:
    each step of the Python function, in its order. They are extracted and compared with the functions that run.
    DrawProofs.v has the theorems. *)

From Coq Require Import List ZArith Bool PeanoNat.
From Adept Require Import Noise Sampler.
Import ListNotations.
Open Scope Z_scope.

(** A program that reads words from a tape: its result and the rest of the tape, or nothing where the tape ends before. *)
Definition reading (T : Type) := list Z -> option (T * list Z).

(** Read nothing. *)
Definition done {T} (v : T) : reading T := fun tape => Some (v, tape).

(** Nothing: the tape ended. *)
Definition ended {T} : reading T := fun _ => None.

(** One program after the other. *)
Definition and_then {T U} (first : reading T) (next : T -> reading U) : reading U :=
  fun tape => match first tape with Some (v, rest) => next v rest | None => None end.

Notation "v <- first ;; next" := (and_then first (fun v => next)) (at level 60, first at next level, right associativity).

(** ** One symbol: [Selection.draw] *)

(** [Selection.place]: the heavy symbols, in ascending order, have the ranks below t; the others follow in ascending order. *)
Definition symbol_at (own : list Z) (rank : Z) : Z :=
  let t := Z.of_nat (length own) in
  if rank <? t then nth (Z.to_nat rank) own 0 else found_by_search own (rank - t).

(** [Selection.draw], for one record: the first word below W says a rank, and the rank says a symbol. *)
Definition draw_symbol (size heavy light : Z) (own : list Z) : reading Z :=
  let t := Z.of_nat (length own) in let total := t * heavy + (size - t) * light in
  draw (fun word => word <? total) (fun word => symbol_at own (rank_of t heavy light word)).

(** [Pairs.heavy]: the heavy pairs are the heavy outcomes with the own label. *)
Definition own_pairs (k label : Z) (own : list Z) : list Z := map (fun outcome => outcome + k * label) own.

(** [Pairs.write]: the pair's index says the outcome and the label. *)
Definition pair_of (k index : Z) : Z * Z := (index mod k, index / k).

(** Text and label as one symbol. *)
Definition draw_pair (k labels heavy light : Z) (own : list Z) (label : Z) : reading (Z * Z) :=
  index <- draw_symbol (k * labels) heavy light (own_pairs k label own) ;; done (pair_of k index).

(** ** The first rows of each person: [Tally.add], and the choice of [over_limit=drop] *)

(** Of each person as many rows count as are allowed, the first ones; [had] lists the persons of the rows that counted before. *)
Fixpoint first_rows {V} (allowed : nat -> nat) (had : list nat) (rows : list (nat * V)) : list (nat * V) :=
  match rows with
  | [] => []
  | (person, value) :: rest =>
    if (count (Nat.eqb person) had <? allowed person)%nat then (person, value) :: first_rows allowed (person :: had) rest
    else first_rows allowed had rest
  end.

(** [Tally]: rows without a person or without a vote do not count; the votes of the others are counted for each cell. *)
Definition tally (m : nat) (cells : list nat) (rows : list (option nat * option nat)) : list Z :=
  let voting := flat_map (fun row => match row with (Some person, Some cell) => [(person, cell)] | _ => [] end) rows in
  counts_of cells (map snd (first_rows (fun _ => m) [] voting)).

(** ** The clip to the grid: [to_grid] *)

(** The norm that bounds a latent in grid steps: the sum of |z_i|, or of z_i^2. *)
Definition norm (l1 : bool) (units : list Z) : Z := if l1 then l1_norm units else squares units.

(** Does it fit, and the latent itself. *)
Definition measured (l1 : bool) (radius : Z) (units : list Z) : bool * list Z := (norm l1 units <=? radius, units).

(** One step toward zero. *)
Definition inward (z : Z) : Z := z - Z.sgn z.

(** Steps toward zero until the latent fits, but at most so many. *)
Fixpoint shrink (l1 : bool) (radius : Z) (most : positive) (latent : bool * list Z) : bool * list Z :=
  if fst latent then latent else
  match most with
  | xH => measured l1 radius (map inward (snd latent))
  | xO most => shrink l1 radius most (shrink l1 radius most latent)
  | xI most => shrink l1 radius most (shrink l1 radius most (measured l1 radius (map inward (snd latent))))
  end.

(** [to_grid]: numbers p / q of grid steps, rounded toward zero, and then moved until they fit. *)
Definition to_grid (l1 : bool) (radius : Z) (numbers : list (Z * Z)) : list Z :=
  let units := map (fun number => Z.quot (fst number) (snd number)) numbers in
  snd (shrink l1 radius (Z.to_pos (norm l1 units - radius)) (measured l1 radius units)).

(** ** Noise: [laplace_noise] *)

(** Read n words. *)
Fixpoint read_words (n : nat) : reading (list Z) :=
  match n with
  | O => done []
  | S n => word <- (fun tape => match tape with [] => None | word :: rest => Some (word, rest) end) ;;
           rest <- read_words n ;; done (word :: rest)
  end.

(** Put fresh values in the places that a test marks. *)
Fixpoint refill {A} (marked : A -> bool) (values fresh : list A) : list A :=
  match values with
  | [] => []
  | v :: values =>
    if marked v then match fresh with f :: fresh => f :: refill marked values fresh | [] => [] end
    else v :: refill marked values fresh
  end.

(** Words that are refused are read again, all of them together. Every round reads: so the tape bounds the rounds. *)
Fixpoint read_again (rounds : list Z) (refused : Z -> bool) (words : list Z) : reading (list Z) :=
  match count refused words, rounds with
  | O, _ => done words
  | _, [] => ended
  | n, _ :: rounds => fresh <- read_words n ;; read_again rounds refused (refill refused words fresh)
  end.

(** [random_draws.below_each]: n numbers below the bound. *)
Definition below_each (bits bound : Z) (n : nat) : reading (list Z) :=
  if bound =? 1 then done (repeat 0 n) else
  let least := 2 ^ bits mod bound in
  fun tape => (words <- read_words n ;; words <- read_again tape (fun word => word <? least) words ;;
               done (map (fun word => word mod bound) words)) tape.

(** The values at the marked places. *)
Definition kept {A} (marks : list bool) (values : list A) : list A := map snd (filter fst (combine marks values)).

(** [_decays], from a trial on: is the number of successes from there on even, for each numerator? Where a trial fails at once
    it is, and after a success it is the opposite of what follows. *)
Fixpoint decays_from (rounds : list Z) (bits t trial : Z) (numerators : list Z) : reading (list bool) :=
  match numerators, rounds with
  | [], _ => done []
  | _, [] => ended
  | _, _ :: rounds =>
    drawn <- below_each bits t (length numerators) ;;
    let below := map (fun du => fst du <? snd du) (combine drawn numerators) in
    parts <- below_each bits trial (count (fun b => b) below) ;;
    let going := refill (fun b => b) below (map (fun part => part =? 0) parts) in
    later <- decays_from rounds bits t (trial + 1) (kept going numerators) ;;
    done (map negb (refill (fun b => b) going later))
  end.

(** The first trial has the number 1. Two rounds can pass without a word: where t is 1, the first trial reads none. *)
Definition decays (bits t : Z) (numerators : list Z) : reading (list bool) :=
  fun tape => decays_from (0 :: 0 :: tape) bits t 1 numerators tape.

(** [_plenty]: how many draws to make for so many successes. *)
Definition plenty (n : nat) : nat := (n + 3 * n / 4 + 8)%nat.

(** Parts below t, each kept with probability e^(-part / t), until there are enough. *)
Fixpoint parts_from (rounds : list Z) (bits t : Z) (n : nat) (found : list Z) : reading (list Z) :=
  if (n <=? length found)%nat then done (firstn n found) else
  match rounds with
  | [] => ended
  | _ :: rounds =>
    drawn <- below_each bits t (plenty (n - length found)) ;; marks <- decays bits t drawn ;;
    parts_from rounds bits t n (found ++ kept marks drawn)
  end.

(** Runs of successes, each before a failure; the last run goes on. *)
Fixpoint runs (run : Z) (coins : list bool) : list Z * Z :=
  match coins with
  | [] => ([], run)
  | true :: coins => runs (run + 1) coins
  | false :: coins => let (closed, last) := runs 0 coins in (run :: closed, last)
  end.

(** [_wholes]: coins that are true with probability e^(-1), until there are enough runs. Nothing bounds a run but the tape. *)
Fixpoint wholes_from (rounds : list Z) (bits : Z) (n : nat) (found : list Z) (run : Z) : reading (list Z) :=
  if (n <=? length found)%nat then done (firstn n found) else
  match rounds with
  | [] => ended
  | _ :: rounds =>
    coins <- decays bits 1 (repeat 1 (plenty (n - length found))) ;;
    let (closed, last) := runs run coins in wholes_from rounds bits n (found ++ closed) last
  end.

(** [_magnitudes]: (part + t whole) / 2^shift, rounded down, but at most 2^62 / 2^shift. *)
Definition magnitudes (bits t shift : Z) (n : nat) : reading (list Z) :=
  fun tape => (parts <- parts_from (0 :: tape) bits t n [] ;; wholes <- (fun tape => wholes_from (0 :: tape) bits n [] 0 tape) ;;
               done (map (fun uv => Z.min (2 ^ 62) (fst uv + t * snd uv) / 2 ^ shift) (combine parts wholes))) tape.

(** Signs and sizes, and again where the result is minus zero. *)
Fixpoint noise_from (rounds : list Z) (bits t shift : Z) (n : nat) : reading (list Z) :=
  match n, rounds with
  | O, _ => done []
  | _, [] => ended
  | _, _ :: rounds =>
    sizes <- magnitudes bits t shift n ;; signs <- below_each bits 2 n ;;
    let pairs := combine signs sizes in
    let again := fun pair => (fst pair =? 1) && (snd pair =? 0) in
    later <- noise_from rounds bits t shift (count again pairs) ;;
    done (map (fun pair => if fst pair =? 1 then - snd pair else snd pair) (refill again pairs (map (fun z => (0, z)) later)))
  end.

(** [laplace_noise]: n numbers. *)
Definition noise (bits t shift : Z) (n : nat) : reading (list Z) := fun tape => noise_from (0 :: tape) bits t shift n tape.

(** [exact_laplace]: the noise is added to values that were cut off, and the sums are cut off too. *)
Definition noisy_values (bits t shift : Z) (values : list Z) : reading (list Z) :=
  let limit := 2 ^ 62 / 2 ^ (shift + 1) in
  numbers <- noise bits t shift (length values) ;;
  done (map (fun xz => cut limit (cut limit (fst xz) + snd xz)) (combine values numbers)).
