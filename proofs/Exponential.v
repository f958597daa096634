(** * The exponential function without floats

    [exponential_series] of random_draws.py and [_at_most_e_to] of verify.py add up the terms of the series of e^epsilon in
      whole numbers,
    in units of 2^-128, each rounded down. *)

From Coq Require Import Reals Lra Lia ZArith.
Open Scope R_scope.

(** Terms are counted in units of 2^-128. *)
Definition series_bits : Z := 128.

(** One step for epsilon = p / q: the next term is the last one times p / (q i), rounded down. *)
Definition next_term (p q i term : Z) : Z := (term * p / (q * i))%Z.

(** The sum of [count] further terms after [term], the first of which has the number i. *)
Fixpoint further_terms (p q : Z) (count : nat) (i term total : Z) : Z :=
  match count with
  | O => total
  | S count => let term := next_term p q i term in further_terms p q count (i + 1) term (total + term)
  end.

(** The sum of the first terms, in units of 2^-128. *)
Definition series (p q : Z) (terms : nat) : Z := further_terms p q terms 1 (2 ^ series_bits) (2 ^ series_bits).

(** The exact terms of the series are positive, so that no partial sum exceeds e^x. *)
Lemma partial_sum : forall x n, 0 <= x -> sum_f_R0 (fun i => / INR (fact i) * x ^ i) n <= exp x.
Proof.
  intros x n X. unfold exp. destruct (exist_exp x) as [l L]. simpl. apply sum_incr.
  - intros e E. destruct (L e E) as [N H]. exists N. exact H.
  - intros i. apply Rmult_le_pos; [left; apply Rinv_0_lt_compat, lt_0_INR, lt_O_fact | now apply pow_le].
Qed.

Lemma further_terms_bound : forall p q x count i term total scale, (0 <= p)%Z -> (0 < q)%Z -> x = IZR p / IZR q -> 0 < scale ->
  (0 <= term)%Z -> IZR term <= scale * (/ INR (fact i) * x ^ i) ->
  IZR total <= scale * sum_f_R0 (fun i => / INR (fact i) * x ^ i) i ->
  IZR (further_terms p q count (Z.of_nat (S i)) term total) <= scale * sum_f_R0 (fun i => / INR (fact i) * x ^ i) (i + count).
Proof.
  intros p q x count. induction count as [|count IH]; intros i term total scale P Q X S T0 T U; [now rewrite Nat.add_0_r|].
  cbn [further_terms]. set (t := next_term p q (Z.of_nat (Datatypes.S i)) term).
  assert (D : (0 < q * Z.of_nat (Datatypes.S i))%Z) by nia.
  assert (Ht : IZR t <= scale * (/ INR (fact (Datatypes.S i)) * x ^ (Datatypes.S i))).
  { assert (F : (q * Z.of_nat (Datatypes.S i) * t <= term * p)%Z) by (apply Z.mul_div_le; lia).
    apply IZR_le in F. rewrite 3!mult_IZR, <- INR_IZR_INZ in F.
    assert (Q' : 0 < IZR q) by now apply (IZR_lt 0). assert (I : 0 < INR (Datatypes.S i)) by (apply lt_0_INR; lia).
    assert (P' : 0 <= IZR p) by now apply (IZR_le 0).
    assert (Fi : 0 < INR (fact i)) by apply lt_0_INR, lt_O_fact.
    apply Rmult_le_reg_l with (IZR q * INR (Datatypes.S i)); [now apply Rmult_lt_0_compat|].
    apply Rle_trans with (IZR term * IZR p); auto. apply Rle_trans with (scale * (/ INR (fact i) * x ^ i) * IZR p);
      [now apply Rmult_le_compat_r|].
    right. rewrite fact_simpl, mult_INR. cbn [pow]. rewrite X at 2. field. repeat split; lra. }
  replace (Z.of_nat (Datatypes.S i) + 1)%Z with (Z.of_nat (Datatypes.S (Datatypes.S i))) by lia.
  replace (i + Datatypes.S count)%nat with (Datatypes.S i + count)%nat by lia. apply IH; auto.
  - apply Z.div_pos; nia.
  - rewrite plus_IZR. cbn [sum_f_R0]. lra.
Qed.

(** The series is a lower bound of e^epsilon. *)
Theorem series_is_a_lower_bound : forall p q terms, (0 <= p)%Z -> (0 < q)%Z ->
  IZR (series p q terms) <= IZR (2 ^ series_bits) * exp (IZR p / IZR q).
Proof.
  intros p q terms P Q. assert (S : 0 < IZR (2 ^ series_bits)) by (apply (IZR_lt 0); reflexivity).
  apply Rle_trans with (IZR (2 ^ series_bits) * sum_f_R0 (fun i => / INR (fact i) * (IZR p / IZR q) ^ i) (0 + terms)).
  - unfold series. change 1%Z with (Z.of_nat 1). apply further_terms_bound; auto; try (simpl; lra).
    apply Z.pow_nonneg. lia.
  - apply Rmult_le_compat_l; [lra|]. apply partial_sum.
    apply Rmult_le_pos; [now apply (IZR_le 0) | left; apply Rinv_0_lt_compat; now apply (IZR_lt 0)].
Qed.

(** So a comparison of whole numbers implies one of real numbers. *)
Theorem comparison_implies_ratio : forall A B p q terms, (0 < B)%Z -> (0 <= p)%Z -> (0 < q)%Z ->
  (A * 2 ^ series_bits <= B * series p q terms)%Z -> IZR A <= exp (IZR p / IZR q) * IZR B.
Proof.
  intros A B p q terms HB P Q H. assert (S : 0 < IZR (2 ^ series_bits)) by (apply (IZR_lt 0); reflexivity).
  pose proof (series_is_a_lower_bound p q terms P Q) as L. apply IZR_le in H. rewrite 2!mult_IZR in H.
  assert (HB' : 0 < IZR B) by now apply (IZR_lt 0).
  apply Rmult_le_compat_l with (r := IZR B) in L; [|lra]. apply Rmult_le_reg_r with (IZR (2 ^ series_bits)); auto. lra.
Qed.

(** The weights that the programs use, [exact_odds]: B = 2^64, and A is the series cut off to units of 2^-64. *)
Definition odds_bits : Z := 64.

(** The two weights A and B. *)
Definition exact_odds (p q : Z) (terms : nat) : Z * Z := (series p q terms / 2 ^ odds_bits, 2 ^ odds_bits)%Z.

(** They are positive, A is the larger one, and A <= e^epsilon B. *)
Theorem exact_odds_are_right : forall p q terms A B, (0 <= p)%Z -> (0 < q)%Z -> (A, B) = exact_odds p q terms ->
  (0 < B <= A)%Z /\ IZR A <= exp (IZR p / IZR q) * IZR B.
Proof.
  intros p q terms A B P Q E. unfold exact_odds in E. injection E as -> ->.
  assert (F : forall count i term total, (0 <= term)%Z -> (0 < i)%Z -> (total <= further_terms p q count i term total)%Z).
  { induction count as [|count IH]; intros i term total T I; cbn [further_terms]; [lia|].
    assert (0 <= next_term p q i term)%Z by (apply Z.div_pos; nia).
      specialize (IH (i + 1)%Z (next_term p q i term) (total + next_term p q i term)%Z). lia. }
  assert (B0 : (0 < 2 ^ odds_bits)%Z) by reflexivity.
  split; [split; auto|].
  - apply Z.div_le_lower_bound; auto. apply Z.le_trans with (2 ^ series_bits)%Z; [reflexivity || (simpl; lia)|].
    apply F; [apply Z.pow_nonneg; lia | lia].
  - apply comparison_implies_ratio with terms; auto. change (2 ^ series_bits)%Z with (2 ^ odds_bits * 2 ^ odds_bits)%Z.
    assert (M : forall a b s, (0 < b -> b * a <= s -> a * (b * b) <= b * s)%Z) by (intros; nia).
    apply M; auto. now apply Z.mul_div_le.
Qed.
