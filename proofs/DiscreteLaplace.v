(** * The sampler of two-sided geometric noise, step by step

    Steps 2 to 4 of adept/mechanisms/discrete_laplace.py (Canonne, Kamath and Steinke 2020, Algorithms 1 and 2): from uniform
    numbers to integers with P(z) proportional to e^(-|z| / b), for b = t / 2^k.
      Step 1, the uniform numbers, is in Sampler.v. *)

From Coq Require Import Reals List Lra Lia ZArith PeanoNat.
From Adept Require Import Privacy Noise.
Import ListNotations.
Open Scope R_scope.

(** ** Step 2: true with probability e^(-g) *)

(** The chance that the trials 1 .. j all succeed, where trial i succeeds with probability g / i. *)
Fixpoint all_succeed (g : R) (j : nat) : R := match j with O => 1 | S i => all_succeed g i * (g / INR (S i)) end.

Lemma all_succeed_is : forall g j, all_succeed g j = / INR (fact j) * g ^ j.
Proof.
  intros g j. induction j as [|j IH]; [simpl; lra|]. cbn [all_succeed]. rewrite IH, fact_simpl, mult_INR. cbn [pow].
  field. split; [apply not_0_INR, fact_neq_0 | apply not_0_INR; lia].
Qed.

(** The chance that the first trial that fails has the number 2 i + 1. *)
Definition first_failure_is_odd (g : R) (i : nat) : R := all_succeed g (2 * i) - all_succeed g (2 * i + 1).

(** [_decays] is true if that number is odd: the chances of all odd numbers sum to e^(-g). *)
Theorem odd_failures_have_probability_exp : forall g, Un_cv (sum_f_R0 (first_failure_is_odd g)) (exp (- g)).
Proof.
  intros g. assert (E : forall n, sum_f_R0 (first_failure_is_odd g) n = sum_f_R0 (fun i => / INR (fact i) * (- g) ^ i) (2
    * n + 1)).
  { assert (P : forall i, (- g) ^ (2 * i) = g ^ (2 * i)) by (intros; rewrite 2!pow_mult; f_equal; ring).
    induction n as [|n IH]; unfold first_failure_is_odd in *.
    - cbn [sum_f_R0]. rewrite 2!all_succeed_is. simpl. lra.
    - cbn [sum_f_R0]. rewrite IH, 2!all_succeed_is. replace (2 * S n + 1)%nat with (S (S (2 * n + 1))) by lia. cbn [sum_f_R0].
      replace (S (2 * n + 1)) with (2 * S n)%nat by lia. rewrite P. replace (S (2 * S n)) with (2 * S n + 1)%nat by lia.
      rewrite (pow_add (- g)), P, (pow_add g). simpl (_ ^ 1). ring. }
  unfold exp. destruct (exist_exp (- g)) as [l L]. cbn [proj1_sig]. intros e He. destruct (L e He) as [N H]. exists N.
    intros n Hn.
  rewrite E. apply H. lia.
Qed.

(** ** Step 3: parts and wholes *)

(** U is a part below t, kept with probability e^(-U / t); V counts wholes, each with probability e^(-1).
  Then X = U + t V has weight
    e^(-X / t), and each X is one such pair. *)
Theorem parts_and_wholes : forall t, (0 < t)%Z ->
  (forall u v, exp (- (IZR u / IZR t)) * exp (- IZR v) = exp (- (IZR (u + t * v) / IZR t))) /\
  (forall x u v, (0 <= u < t)%Z -> x = (u + t * v)%Z <-> u = (x mod t)%Z /\ v = (x / t)%Z).
Proof.
  intros t T. assert (T' : 0 < IZR t) by now apply (IZR_lt 0). split.
  - intros u v. rewrite <- exp_plus, plus_IZR, mult_IZR. f_equal. field. lra.
  - intros x u v U. split; [intros ->|intros [-> ->]; rewrite Z.add_comm; apply Z.div_mod; lia].
    rewrite (Z.mul_comm t), Z.mod_add, Z.div_add, Z.mod_small, Z.div_small by lia. lia.
Qed.

(** V is the number of successes before a failure, each with probability p = e^(-1): v successes have weight e^(-v). *)
Theorem runs_of_successes : forall v, exp (- 1) ^ v = exp (- INR v).
Proof. induction v as [|v IH]; [simpl; now rewrite Ropp_0, exp_0|]. rewrite S_INR. cbn [pow]. rewrite IH, <- exp_plus.
  f_equal. ring. Qed.

(** Y = floor(X / m), m = 2^k, collects the weights of m numbers X: that of y is e^(-y m / t),
  times the same sum for every y. *)
Theorem rounding_down_keeps_the_shape : forall (t : R) (m y : nat),
  sum (fun x => exp (- (INR x / t))) (seq (y * m) m) = exp (- (INR y * (INR m / t))) * sum (fun x => exp (- (INR x / t)))
    (seq 0 m).
Proof.
  intros t m y. rewrite <- sum_scale. assert (S : forall a n, seq a n = map (Nat.add a) (seq 0 n)).
  { intros a n. rewrite <- (Nat.add_0_r a) at 1. generalize 0%nat. induction n as [|n IH]; intros b; simpl; auto. f_equal.
    rewrite <- IH. f_equal. lia. }
  rewrite (S (y * m)%nat), sum_map. apply sum_ext. intros x _. rewrite <- exp_plus, plus_INR, mult_INR. f_equal.
    unfold Rdiv. ring.
Qed.

(** ** Step 4: the sign *)

(** A fair sign and a size y with weight e^(-y / b) make z = +y or -y;
  the pair (minus, 0) is drawn again, so it has no weight. *)
Definition signed (b : R) (minus : bool) (y : nat) : R := if (minus && (y =? 0)%nat)%bool then 0 else / 2 * exp (- IZR
  (Z.of_nat y) / b).

(** The noise z comes from one pair alone. *)
Definition value (minus : bool) (y : nat) : Z := if minus then (- Z.of_nat y)%Z else Z.of_nat y.

(** All pairs that mean z have together half the weight that Noise.v gives to noise z, whatever z is: so the law is the same. *)
Theorem signs_have_the_weights_of_the_noise : forall b x z n, (Z.abs_nat z < n)%nat ->
  sum (fun y => (if (value false y =? z)%Z then signed b false y else 0) + (if (value true y =? z)%Z then signed b true y
    else 0)) (seq 0 n)
  = / 2 * geometric b [x] [(x + z)%Z].
Proof.
  intros b x z n H. unfold geometric. cbn [length Nat.eqb distance].
    replace (Z.abs (x - (x + z)) + 0)%Z with (Z.of_nat (Z.abs_nat z)) by lia.
  set (f := fun y => _). assert (E : forall y, f y = if (y =? Z.abs_nat z)%nat then / 2 * exp (- IZR (Z.of_nat (Z.abs_nat
    z)) / b) else 0).
  { intros y. unfold f, signed, value. destruct (Nat.eqb_spec y (Z.abs_nat z)) as [->|Y].
    - destruct (Z.eqb_spec (Z.of_nat (Z.abs_nat z)) z), (Z.eqb_spec (- Z.of_nat (Z.abs_nat z)) z),
      (Nat.eqb_spec (Z.abs_nat z) 0); cbn [andb]; try lra; lia.
    - destruct (Z.eqb_spec (Z.of_nat y) z), (Z.eqb_spec (- Z.of_nat y) z); try lra; lia. }
  rewrite (sum_ext _ f _ _ (fun y _ => E y)). set (w := / 2 * _). clear E f.
  assert (G : forall a m, (a <= Z.abs_nat z < a + m)%nat ->
    sum (fun y => if (y =? Z.abs_nat z)%nat then w else 0) (seq a m) = w).
  { assert (O : forall a m, (Z.abs_nat z < a)%nat -> sum (fun y => if (y =? Z.abs_nat z)%nat then w else 0) (seq a m) = 0).
    { intros a m. revert a. induction m as [|m IH]; intros a A; simpl; auto. rewrite IH by lia.
      destruct (Nat.eqb_spec a (Z.abs_nat z)); [lia | lra]. }
    intros a m. revert a. induction m as [|m IH]; intros a A; simpl; [lia|].
      destruct (Nat.eqb_spec a (Z.abs_nat z)); [rewrite O by lia | rewrite IH by lia]; lra. }
  apply G. lia.
Qed.
