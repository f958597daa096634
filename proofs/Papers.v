(** * The theorems of the papers: which Laplace mechanisms are private, and why the published one is not

    Habernal 2021, Theorem 5.1: ADePT clips a latent to l2 norm C and adds Laplace noise of scale 2 C / epsilon to each
      coordinate,
    as if 2 C were the largest *l1* distance. It is 2 C sqrt(n). *)

From Coq Require Import Reals List Lra Lia ZArith Psatz PeanoNat.
From Adept Require Import Privacy Noise.
Import ListNotations.
Open Scope R_scope.

(** ** Whole numbers: the remedies, as adept computes them *)

Lemma norms_nonneg : forall x, (0 <= l1_norm x)%Z /\ (0 <= squares x)%Z.
Proof. induction x as [|a x [I J]]; cbn [l1_norm squares]; [lia | pose proof (Z.square_nonneg a); lia]. Qed.

(** Cauchy and Schwarz: the square of the l1 norm is at most n times the sum of squares. *)
Lemma cauchy_schwarz : forall x, (l1_norm x * l1_norm x <= Z.of_nat (length x) * squares x)%Z.
Proof.
  induction x as [|a x IH]; [simpl; lia|]. destruct (norms_nonneg x) as [N S].
  cbn [l1_norm squares length]. rewrite Nat2Z.inj_succ.
  set (s := l1_norm x) in *. set (q := squares x) in *. set (n := Z.of_nat (length x)) in *.
  assert (0 <= n)%Z by (unfold n; lia). assert (E : (Z.abs a * Z.abs a = a * a)%Z) by nia. set (b := Z.abs a) in *.
    clearbody b. rewrite <- E. clear E.
  assert (C : (2 * b * s <= n * (b * b) + q)%Z); [|nia].
  destruct (Z.eq_dec n 0) as [n0|n0].
  - assert (s = 0)%Z by (rewrite n0 in IH; nia). nia.
  - assert (0 < n)%Z by lia. pose proof (Z.square_nonneg (n * b - s)). apply Z.mul_le_mono_pos_l with n; auto. lia.
Qed.

(** Integer vectors of n coordinates whose squares sum to at most Q are at l1 distance at most 2 isqrt(n Q). *)
Theorem l2_ball_has_l1_diameter : forall n Q x x', (length x = n)%nat -> (length x' = n)%nat ->
  (squares x <= Q)%Z -> (squares x' <= Q)%Z -> within n (2 * Z.sqrt (Z.of_nat n * Q)) x x'.
Proof.
  assert (S : forall n Q x, (length x = n)%nat -> (squares x <= Q)%Z -> (l1_norm x <= Z.sqrt (Z.of_nat n * Q))%Z).
  { intros n Q x L H. destruct (norms_nonneg x) as [N S]. apply Z.sqrt_le_square; [nia|auto|].
    pose proof (cauchy_schwarz x). rewrite L in *. nia. }
  intros n Q x x' L L' H H'. split; [auto | split; [auto|]]. pose proof (distance_of_norms x x').
    pose proof (S n Q x L H). pose proof (S n Q x' L' H'). lia.
Qed.

(** Integer vectors of l1 norm at most radius are at l1 distance at most 2 radius. *)
Theorem l1_ball_has_l1_diameter : forall n radius x x', (length x = n)%nat -> (length x' = n)%nat ->
  (l1_norm x <= radius)%Z -> (l1_norm x' <= radius)%Z -> within n (2 * radius) x x'.
Proof. intros n radius x x' L L' H H'. split; [auto | split; [auto|]]. pose proof (distance_of_norms x x'). lia. Qed.

(** The relation of records that were clipped: any two of the ball. *)
Definition both_in (ball : list Z -> Prop) (n : nat) (x x' : list Z) : Prop := length x = n /\ length x' = n /\ ball x /\
  ball x'.

(** The first remedy, [l1]: clip in l1 to radius grid units, noise of scale b >= 2 radius / epsilon. *)
Theorem l1_is_private : forall n radius b epsilon, 0 < b -> IZR (2 * radius) / b <= epsilon ->
  private epsilon (both_in (fun x => (l1_norm x <= radius)%Z) n) (geometric b).
Proof.
  intros n radius b e B E x x' (L & L' & H & H'). apply (geometric_is_private n (2 * radius) b e B E x x').
    now apply l1_ball_has_l1_diameter.
Qed.

(** The second remedy, [sqrt_n]: clip in l2, to sum of squares at most Q, noise of scale b >= 2 isqrt(n Q) / epsilon. *)
Theorem sqrt_n_is_private : forall n Q b epsilon, 0 < b -> IZR (2 * Z.sqrt (Z.of_nat n * Q)) / b <= epsilon ->
  private epsilon (both_in (fun x => (squares x <= Q)%Z) n) (geometric b).
Proof.
  intros n Q b e B E x x' (L & L' & H & H'). apply (geometric_is_private n _ b e B E x x'). now apply l2_ball_has_l1_diameter.
Qed.

(** The published mechanism, [original]: clip in l2 to radius C, noise of scale 2 C / epsilon. On the grid C is a real number of
    steps; [radius] is C, and [Q] is C^2, both rounded down. For n = 1 the claim holds. *)
Theorem original_is_private_in_one_dimension : forall radius Q b epsilon, Z.sqrt Q = radius -> 0 < b ->
  IZR (2 * radius) / b <= epsilon ->
  private epsilon (both_in (fun x => (squares x <= Q)%Z) 1) (geometric b).
Proof. intros radius Q b e H B E. apply sqrt_n_is_private; auto. replace (Z.of_nat 1 * Q)%Z with Q by lia. now rewrite H. Qed.

(** The published scale 2 C / epsilon, in grid steps; adept rounds it up by less than one part in 2^22. *)
Definition claimed_scale (radius : Z) (epsilon b : R) : Prop :=
  IZR (2 * radius) / epsilon <= b < IZR (2 * radius) / epsilon * (1 + / 2 ^ 22).

(** For n > 1 the claim is false, for every epsilon: on a grid of at least 2^20 steps there are two records in the ball, and an
    output that is more than e^epsilon times as likely for one of them. *)
Theorem original_is_not_private : forall n radius Q b epsilon, (2 <= n)%nat -> (2 ^ 20 <= radius)%Z ->
  (radius * radius <= Q)%Z -> 0 < epsilon -> claimed_scale radius epsilon b ->
  exists x x', both_in (fun x => (squares x <= Q)%Z) n x x' /\
    forall p p', drawn_by (geometric b x) p -> drawn_by (geometric b x') p' ->
      p x > exp epsilon * p' x /\ ~ indistinguishable epsilon 0 p p'.
Proof.
  intros n radius Q b e N HR HQ He [S1 S2]. set (h := Z.sqrt (radius * radius / 2)).
  pose (v := fun s : Z => ((s * h)%Z :: (s * h)%Z :: repeat 0%Z (n - 2))).
  assert (R2 : (0 <= radius * radius / 2)%Z) by (apply Z.div_pos; [apply Z.square_nonneg | lia]).
  assert (H1 : (2 * (h * h) <= radius * radius)%Z) by (pose proof (Z.sqrt_spec (radius * radius / 2) R2) as [U _];
    fold h in U; pose proof (Z.mul_div_le (radius * radius) 2 ltac:(lia)); lia).
  assert (H2 : (radius * radius < 2 * ((h + 1) * (h + 1)))%Z).
  { pose proof (Z.sqrt_spec (radius * radius / 2) R2) as [_ U]. fold h in U.
    pose proof (Z.mul_succ_div_gt (radius * radius) 2 ltac:(lia)). lia. }
  assert (H0 : (0 <= h)%Z) by apply Z.sqrt_nonneg.
  assert (Z1 : forall k, squares (repeat 0%Z k) = 0%Z) by (induction k; simpl; auto).
  assert (Z2 : forall k, distance (repeat 0%Z k) (repeat 0%Z k) = 0%Z) by (intros; apply distance_self).
  assert (L : forall s, length (v s) = n) by (intros; unfold v; cbn [length]; rewrite repeat_length; lia).
  exists (v 1%Z), (v (-1)%Z). split.
  - repeat split; try apply L; unfold v; cbn [squares]; rewrite Z1; nia.
  - intros p p' P P'. assert (HRR : 0 < IZR (2 * radius)) by (apply (IZR_lt 0); lia).
    assert (B : 0 < b) by (eapply Rlt_le_trans; [|apply S1]; now apply Rdiv_lt_0_compat).
    apply (geometric_is_tight b e (v 1%Z) (v (-1)%Z) p p' B); auto.
    assert (D : distance (v 1%Z) (v (-1)%Z) = (4 * h)%Z) by (unfold v; cbn [distance]; rewrite Z2; lia).
    rewrite D.
    assert (K : (8 * radius < 3 * (4 * h))%Z).
    { assert (C : (9 * (h + 1) * (h + 1) > 4 * radius * radius + 12 * radius + 9)%Z) by nia. nia. }
    assert (F : IZR (2 * radius) * (1 + / 2 ^ 22) < IZR (4 * h)).
    { apply IZR_lt in K. rewrite ?mult_IZR in *. lra. }
    apply Rmult_lt_reg_r with b; auto. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    apply Rlt_trans with (e * (IZR (2 * radius) / e * (1 + / 2 ^ 22))); [now apply Rmult_lt_compat_l|].
    replace (e * (IZR (2 * radius) / e * (1 + / 2 ^ 22))) with (IZR (2 * radius) * (1 + / 2 ^ 22)) by (field; lra). easy.
Qed.

(** ** Real numbers: the published statement *)

(** Norms and distances of real vectors. *)
Definition real_squares (x : list R) : R := fold_right (fun a s => a * a + s) 0 x.

(** The l2 norm. *)
Definition l2_norm (x : list R) : R := sqrt (real_squares x).

(** The l1 distance. *)
Fixpoint real_distance (x y : list R) : R :=
  match x, y with
  | a :: x, b :: y => Rabs (a - b) + real_distance x y
  | _, _ => 0
  end.

(** n equal coordinates. *)
Definition diagonal (n : nat) (c : R) : list R := repeat c n.

Lemma diagonal_norm : forall n c, l2_norm (diagonal n c) = sqrt (INR n) * Rabs c.
Proof.
  intros n c. unfold l2_norm. assert (E : real_squares (diagonal n c) = INR n * (Rabs c * Rabs c)).
  { replace (Rabs c * Rabs c) with (c * c) by (unfold Rabs; destruct (Rcase_abs c); lra).
    induction n as [|n IH]; [simpl; lra|]. rewrite S_INR. simpl. rewrite IH. lra. }
  rewrite E, sqrt_mult; [|apply pos_INR | apply Rmult_le_pos; apply Rabs_pos]. now rewrite sqrt_square by apply Rabs_pos.
Qed.

Lemma diagonal_distance : forall n c d, real_distance (diagonal n c) (diagonal n d) = INR n * Rabs (c - d).
Proof. intros n c d. induction n as [|n IH]; [simpl; lra|]. rewrite S_INR. simpl. rewrite IH. lra. Qed.

(** The bound 2 C sqrt(n) is attained: by C / sqrt(n) (1, .., 1) and its negative, both of l2 norm C. *)
Theorem l1_diameter_is_attained : forall n C, (0 < n)%nat -> 0 < C ->
  let x := diagonal n (C / sqrt (INR n)) in let x' := diagonal n (- (C / sqrt (INR n))) in
  l2_norm x = C /\ l2_norm x' = C /\ real_distance x x' = 2 * C * sqrt (INR n).
Proof.
  intros n C N HC. assert (I : 0 < INR n) by now apply lt_0_INR. assert (S : 0 < sqrt (INR n)) by now apply sqrt_lt_R0.
  assert (D : 0 < C / sqrt (INR n)) by now apply Rdiv_lt_0_compat. cbv zeta.
    rewrite 2!diagonal_norm, diagonal_distance, Rabs_Ropp.
  rewrite 2!Rabs_right by lra. repeat split; [field; lra | field; lra|].
  rewrite <- (sqrt_sqrt (INR n)) at 1 by lra. field. lra.
Qed.

(** The density of Laplace noise of scale b on every coordinate of x, at y; and the probability that y lies above the corner z in
    every coordinate, for a corner that lies above x. *)
Fixpoint laplace_density (b : R) (x y : list R) : R :=
  match x, y with
  | a :: x, c :: y => / (2 * b) * exp (- Rabs (c - a) / b) * laplace_density b x y
  | _, _ => 1
  end.

(** The probability that a + noise lies beyond c, for c >= a. *)
Definition tail (b a c : R) : R := / 2 * exp (- (c - a) / b).

(** The probability that all coordinates lie above the corner z: the product of the tails. *)
Fixpoint above_corner (b : R) (x z : list R) : R :=
  match x, z with
  | a :: x, c :: z => tail b a c * above_corner b x z
  | _, _ => 1
  end.

(** [tail] is the probability beyond c for c >= a: its derivative is minus the density, and it falls below any bound. *)
Theorem tail_is_the_integral_of_the_density : forall b a, 0 < b ->
  (forall c, a < c -> derivable_pt_lim (tail b a) c (- laplace_density b [a] [c])) /\
  (forall bound, 0 < bound -> exists c0, forall c, c0 < c -> 0 < tail b a c < bound).
Proof.
  intros b a B. split.
  - intros c H. unfold tail, laplace_density. rewrite Rabs_right by lra.
    replace (- (/ (2 * b) * exp (- (c - a) / b) * 1)) with (/ 2 * (exp (- (c - a) / b) * (- / b))) by (field; lra).
    apply derivable_pt_lim_scal with (f := fun c => exp (- (c - a) / b)).
    apply (derivable_pt_lim_comp (fun c => - (c - a) / b) exp); [|apply derivable_pt_lim_exp].
    intros precision P. exists (mkposreal 1 Rlt_0_1). intros h H0 _.
    replace ((- (c + h - a) / b - - (c - a) / b) / h - - / b) with 0 by (field; lra). now rewrite Rabs_R0.
  - intros bound P. exists (a - b * ln bound). intros c H. unfold tail. pose proof (exp_pos (- (c - a) / b)). split; [lra|].
    assert (exp (- (c - a) / b) < bound); [|lra]. rewrite <- (exp_ln bound) by auto. apply exp_increasing.
    apply Rmult_lt_reg_r with b; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** Theorem 5.1: for n > 1 and every epsilon > 0 the published mechanism, scale 2 C / epsilon, is not epsilon-private. The event
    is "y lies above C / sqrt(n) in every coordinate": it is e^(epsilon sqrt(n)) times as likely for one record as for the other.
    *)
Theorem published_claim_is_false : forall n C epsilon, (1 < n)%nat -> 0 < C -> 0 < epsilon ->
  let b := 2 * C / epsilon in let corner := C / sqrt (INR n) in let x := diagonal n corner in let x' := diagonal n (- corner) in
  l2_norm x = C /\ l2_norm x' = C /\
  above_corner b x x = exp (epsilon * sqrt (INR n)) * above_corner b x' x /\
  exp epsilon * above_corner b x' x < above_corner b x x.
Proof.
  intros n C e N HC He b corner x x'. destruct (l1_diameter_is_attained n C ltac:(lia) HC) as (N1 & N2 & _).
    fold corner in N1, N2.
  assert (I : 1 < INR n) by (apply (lt_INR 1); lia). assert (S : 1 < sqrt (INR n)) by (rewrite <- sqrt_1; apply sqrt_lt_1; lra).
  assert (E : forall m, above_corner b (diagonal m corner) (diagonal m corner) = exp (INR m * (2 * corner / b)) *
    above_corner b (diagonal m (- corner)) (diagonal m corner)).
  { induction m as [|m IH]; [simpl; rewrite Rmult_0_l, exp_0; lra|]. cbn [diagonal repeat above_corner].
    fold (diagonal m corner) (diagonal m (- corner)).
    rewrite IH, S_INR. unfold tail. replace (- (corner - corner) / b) with ((2 * corner / b) + (- (corner - - corner) /
      b)) by (unfold Rdiv; ring).
    rewrite Rmult_plus_distr_r, Rmult_1_l, 2!exp_plus. ring. }
  assert (F : INR n * (2 * corner / b) = e * sqrt (INR n)).
  { unfold b, corner. rewrite <- (sqrt_sqrt (INR n)) at 1 by lra. field. lra. }
  assert (P : forall m, 0 < above_corner b (diagonal m (- corner)) (diagonal m corner)).
  { induction m as [|m IH]; [simpl; lra|]. cbn [diagonal repeat above_corner]. apply Rmult_lt_0_compat; [|apply IH].
    unfold tail. pose proof (exp_pos (- (corner - - corner) / b)). lra. }
  repeat split; auto; unfold x, x'; rewrite E, F; auto.
  apply Rmult_lt_compat_r; [apply P|]. apply exp_increasing. rewrite <- (Rmult_1_r e) at 1. now apply Rmult_lt_compat_l.
Qed.

(** ** Noise that is never negative: [dptext] *)

(** The probability that a + noise lies beyond c, for exponential noise of mean b: all of it up to a,
  and twice [tail] from there. *)
Definition exponential_tail (b a c : R) : R := if Rle_dec c a then 1 else 2 * tail b a c.

(** The output "below a'" has positive probability for a < a', and none for a'. So whatever epsilon is,
  the release is not private,
    not even with a delta below that probability: an impossible output gives a record away, though each single output has
    probability 0. *)
Theorem noise_that_is_never_negative_gives_away : forall b a a' epsilon, 0 < b -> a < a' ->
  let below x := 1 - exponential_tail b x a' in
  below a' = 0 /\ 0 < below a /\ forall delta, delta < below a -> ~ below a <= exp epsilon * below a' + delta.
Proof.
  intros b a a' e B A below. assert (Z : below a' = 0) by (unfold below, exponential_tail; destruct Rle_dec; lra).
  assert (P : 0 < below a).
  { unfold below, exponential_tail, tail. destruct Rle_dec; [lra|]. assert (exp (- (a' - a) / b) < 1); [|lra].
    rewrite <- exp_0. apply exp_increasing. unfold Rdiv. assert (0 < / b) by now apply Rinv_0_lt_compat. nra. }
  repeat split; auto. intros d D H. rewrite Z in H. lra.
Qed.
