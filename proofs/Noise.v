(** * Noise on whole numbers: two-sided geometric ("discrete Laplace") noise, and votes

    [L1Laplace], [SqrtNLaplace], [OriginalLaplace] and [ScalarLaplace] release integers with this noise;
      [Votes] adds it to counts. *)

From Coq Require Import Reals List Lra Lia ZArith QArith Qround Qreals PeanoNat.
From Adept Require Import Privacy.
Import ListNotations.
Open Scope R_scope.

(** ** Vectors of whole numbers *)

(** The l1 distance of two vectors: the sum of |x_i - y_i|. *)
Fixpoint distance (x y : list Z) : Z :=
  match x, y with
  | a :: x, b :: y => Z.abs (a - b) + distance x y
  | _, _ => 0
  end.

(** The sum of |x_i|. *)
Fixpoint l1_norm (x : list Z) : Z := match x with [] => 0 | a :: x => Z.abs a + l1_norm x end.

(** The sum of x_i^2. *)
Fixpoint squares (x : list Z) : Z := match x with [] => 0 | a :: x => a * a + squares x end.

Lemma distance_nonneg : forall x y, (0 <= distance x y)%Z.
Proof. induction x as [|a x IH]; intros [|b y]; simpl; try lia. specialize (IH y). lia. Qed.

Lemma distance_self : forall x, distance x x = 0%Z.
Proof. induction x as [|a x IH]; simpl; lia. Qed.

Lemma distance_sym : forall x y, distance x y = distance y x.
Proof. induction x as [|a x IH]; intros [|b y]; simpl; auto. rewrite IH. lia. Qed.

Lemma triangle : forall x x' y, length x = length y -> length x' = length y ->
  (distance x' y <= distance x y + distance x x')%Z.
Proof.
  induction x as [|a x IH]; intros [|a' x'] [|b y] L L'; simpl in *; try discriminate; try lia.
  injection L as L. injection L' as L'. specialize (IH x' y L L'). lia.
Qed.

Lemma distance_of_norms : forall x x', (distance x x' <= l1_norm x + l1_norm x')%Z.
Proof.
  assert (N : forall x, (0 <= l1_norm x)%Z) by (induction x; simpl; lia).
  induction x as [|a x IH]; intros [|a' x']; simpl; try lia.
  - pose proof (N x'). lia.
  - pose proof (N x). lia.
  - specialize (IH x'). lia.
Qed.

(** ** The noise *)

(** The weight of y when the vector x gets independent noise of scale b on every coordinate: the product of all e^(-|y_i - x_i| /
    b). Vectors of another length have weight 0. *)
Definition geometric (b : R) (x y : list Z) : R :=
  if (length y =? length x)%nat then exp (- IZR (distance x y) / b) else 0.

Lemma geometric_nonneg : forall b x y, 0 <= geometric b x y.
Proof. intros. unfold geometric. destruct (_ =? _)%nat; [left; apply exp_pos | lra]. Qed.

(** Moving x moves the law: this bijection takes the weights of x to those of x'. *)
Definition move (x x' y : list Z) : list Z :=
  map (fun abc => (snd abc - fst (fst abc) + snd (fst abc))%Z) (combine (combine x x') y).

Lemma move_length : forall x x' y, length x = length x' -> length y = length x -> length (move x x' y) = length y.
Proof. intros. unfold move. rewrite map_length, combine_length, combine_length. lia. Qed.

Lemma move_distance : forall x x' y, length x = length x' -> length y = length x -> distance x' (move x x' y) = distance x y.
Proof.
  induction x as [|a x IH]; intros [|a' x'] [|c y] L M; simpl in *; try discriminate; auto.
  injection L as L. injection M as M. unfold move in *. rewrite IH; auto. lia.
Qed.

Lemma move_back : forall x x' y, length x = length x' -> length y = length x -> move x' x (move x x' y) = y.
Proof.
  induction x as [|a x IH]; intros [|a' x'] [|c y] L M; simpl in *; try discriminate; auto.
  injection L as L. injection M as M. unfold move in *. cbn [combine map fst snd]. rewrite IH; auto. f_equal. lia.
Qed.

Lemma only_full_length : forall b x l, sum (geometric b x) l = sum (geometric b x) (filter (fun y => (length y =? length
  x)%nat) l).
Proof.
  induction l as [|y l IH]; simpl; auto. destruct (length y =? length x)%nat eqn:E; simpl; rewrite IH; auto.
  unfold geometric at 1. rewrite E. lra.
Qed.

(** The totals agree, because moving is a bijection. *)
Lemma totals_agree : forall b x x' W, length x = length x' ->
  probability (geometric b x) everything W -> probability (geometric b x') everything W.
Proof.
  assert (M : forall b x x' l, length x = length x' -> NoDup l ->
    exists l', part_of everything l' /\ sum (geometric b x) l = sum (geometric b x') l').
  { intros b x x' l L N. rewrite only_full_length. set (f := filter _ l).
    assert (F : forall y, In y f -> length y = length x) by (intros y Y; apply filter_In in Y; now apply Nat.eqb_eq).
    assert (NF : NoDup f) by now apply NoDup_filter. clearbody f. clear N l.
    exists (map (move x x') f). split; [split; [|now unfold everything]|].
    - induction f as [|y f IH]; simpl; constructor; inversion NF; subst; [|apply IH; auto; intros; apply F; simpl; auto].
      intros I. apply in_map_iff in I. destruct I as (z & E & Z). assert (z = y); [|subst; contradiction].
      rewrite <- (move_back x x' z), <- (move_back x x' y), E; auto; apply F; simpl; auto.
    - rewrite sum_map. apply sum_ext. intros y Y. unfold geometric. rewrite move_length, move_distance; auto. now rewrite L. }
  intros b x x' W L [U Le]. split.
  - intros s (l & [N _] & ->). destruct (M b x' x l) as (l' & P & ->); auto. apply U. now exists l'.
  - intros c C. apply Le. intros s (l & [N _] & ->). destruct (M b x x' l) as (l' & P & ->); auto. apply C. now exists l'.
Qed.

(** The total is finite: at most (2 / (1 - e^(-1/b)))^n. *)
Fixpoint box (n N : nat) : list (list Z) :=
  match n with
  | O => [[]]
  | S n => flat_map (fun a => map (cons a) (box n N)) (map Z.of_nat (seq 0 N) ++ map (fun i => - Z.of_nat i)%Z (seq 0 N))
  end.

Lemma geometric_series : forall a s N, 0 < a < 1 -> sum (fun i => a ^ i) (seq s N) <= a ^ s / (1 - a).
Proof.
  intros a s N A. revert s. induction N as [|N IH]; intros s; simpl.
  - apply Rlt_le, Rdiv_lt_0_compat; [apply pow_lt; lra | lra].
  - specialize (IH (S s)). simpl in IH. replace (a ^ s / (1 - a)) with (a ^ s + a * a ^ s / (1 - a)) by (field; lra). lra.
Qed.

Lemma exp_power : forall b i, exp (- IZR (Z.of_nat i) / b) = exp (- 1 / b) ^ i.
Proof.
  intros b i. induction i as [|i IH]; [simpl; unfold Rdiv; rewrite Ropp_0, Rmult_0_l; apply exp_0|].
  cbn [pow]. rewrite <- IH, <- exp_plus, Nat2Z.inj_succ, succ_IZR. f_equal. unfold Rdiv. ring.
Qed.

Lemma box_is_bounded : forall b n N, 0 < b -> sum (fun y => exp (- IZR (distance (repeat 0%Z n) y) / b)) (box n N) <= (2 /
  (1 - exp (- 1 / b))) ^ n.
Proof.
  intros b n N B. set (a := exp (- 1 / b)).
  assert (A : 0 < a < 1).
  { split; [apply exp_pos|]. rewrite <- exp_0. apply exp_increasing. unfold Rdiv.
    assert (0 < / b) by now apply Rinv_0_lt_compat. lra. }
  induction n as [|n IH]; [simpl; unfold Rdiv; rewrite Ropp_0, Rmult_0_l, exp_0; lra|].
  assert (P : 0 <= (2 / (1 - a)) ^ n) by (apply pow_le, Rlt_le, Rdiv_lt_0_compat; lra).
  assert (G : sum (fun i => exp (- IZR (Z.of_nat i) / b)) (seq 0 N) <= 1 / (1 - a)).
  { rewrite (sum_ext _ _ (fun i => a ^ i)) by (intros; apply exp_power). apply (geometric_series a 0 N A). }
  cbn [box]. rewrite sum_flat_map.
  apply Rle_trans with (sum (fun c => exp (- IZR (Z.abs c) / b) * (2 / (1 - a)) ^ n) (map Z.of_nat (seq 0 N) ++ map (fun i
    => (- Z.of_nat i)%Z) (seq 0 N))).
  - apply sum_le. intros c _. rewrite sum_map. rewrite (sum_ext _ _ (fun y => exp (- IZR (Z.abs c) / b) * exp (- IZR
    (distance (repeat 0%Z n) y) / b))).
    + rewrite sum_scale. apply Rmult_le_compat_l; [left; apply exp_pos | easy].
    + intros y _. rewrite <- exp_plus. cbn [repeat distance]. rewrite plus_IZR, Z.sub_0_l, Z.abs_opp. f_equal.
      unfold Rdiv. ring.
  - rewrite (sum_ext _ _ (fun c => (2 / (1 - a)) ^ n * exp (- IZR (Z.abs c) / b))) by (intros; apply Rmult_comm).
    rewrite sum_scale, sum_app, 2!sum_map.
    rewrite (sum_ext _ (fun o => exp (- IZR (Z.abs (Z.of_nat o)) / b)) (fun i => exp (- IZR (Z.of_nat i) / b))) by (intros
      i _; now rewrite Z.abs_eq by lia).
    rewrite (sum_ext _ (fun o => exp (- IZR (Z.abs (- Z.of_nat o)) / b)) (fun i => exp (- IZR (Z.of_nat i) / b))) by
      (intros i _; now rewrite Z.abs_opp, Z.abs_eq by lia).
    cbn [pow]. rewrite (Rmult_comm (2 / (1 - a))). apply Rmult_le_compat_l; auto. unfold Rdiv in *. lra.
Qed.

Lemma in_box : forall n N y, length y = n -> (forall a, In a y -> (Z.abs a < Z.of_nat N)%Z) -> In y (box n N).
Proof.
  induction n as [|n IH]; intros N [|a y] L A; simpl in *; try discriminate; auto.
  apply in_flat_map. exists a. split.
  - specialize (A a (or_introl eq_refl)). apply in_or_app. destruct (Z_le_gt_dec 0 a).
    + left. apply in_map_iff. exists (Z.to_nat a). split; [lia | apply in_seq; lia].
    + right. apply in_map_iff. exists (Z.to_nat (- a)). split; [lia | apply in_seq; lia].
  - apply in_map, IH; auto.
Qed.

Lemma small_enough : forall l : list (list Z), exists N, forall y, In y l -> forall a, In a y -> (Z.abs a < Z.of_nat N)%Z.
Proof.
  induction l as [|y l [N H]]; [exists 0%nat; simpl; tauto|].
  assert (Y : exists M, forall a, In a y -> (Z.abs a < Z.of_nat M)%Z).
  { clear. induction y as [|a y [M H]]; [exists 0%nat; simpl; tauto|]. exists (M + S (Z.abs_nat a))%nat.
    intros c [->|C]; [lia|]. specialize (H c C). lia. }
  destruct Y as [M K]. exists (N + M)%nat. intros z [<-|Z] a A; [specialize (K a A) | specialize (H z Z a A)]; lia.
Qed.

(** The weights are those of a law, in every dimension. *)
Theorem geometric_is_well_defined : forall b x, 0 < b -> well_defined (geometric b x).
Proof.
  intros b x B. set (o := repeat 0%Z (length x)).
  assert (LO : length o = length x) by apply repeat_length.
  destruct (probability_exists _ (geometric b o) everything ((2 / (1 - exp (- 1 / b))) ^ length x)) as [W HW].
  - intros l [N _]. rewrite only_full_length. set (f := filter _ l).
    assert (F : forall y, In y f -> length y = length o) by (intros y Y; apply filter_In in Y; now apply Nat.eqb_eq).
    destruct (small_enough f) as [M H].
    apply Rle_trans with (sum (fun y => exp (- IZR (distance o y) / b)) f).
    + apply sum_le. intros y Y. unfold geometric. rewrite (F y Y), Nat.eqb_refl. lra.
    + apply Rle_trans with (sum (fun y => exp (- IZR (distance o y) / b)) (box (length x) M)); [|now apply box_is_bounded].
      apply sum_incl; [intros; left; apply exp_pos | now apply NoDup_filter|]. intros y Y.
        apply in_box; [rewrite (F y Y); auto | eauto].
  - apply (totals_agree b o x) in HW; auto. apply total_makes_law with W; auto; [intros; apply geometric_nonneg|].
    assert (1 <= W); [|lra]. apply Rle_trans with (sum (geometric b x) [x]).
    + unfold geometric; simpl. rewrite Nat.eqb_refl, distance_self. unfold Rdiv. rewrite Ropp_0, Rmult_0_l, exp_0. lra.
    + apply (bounded_by_probability _ _ _ _ _ HW). split; [constructor; [simpl; tauto | constructor] | now unfold everything].
Qed.

(** The claim: for vectors at l1 distance at most D, noise of scale b >= D / epsilon is epsilon-private. *)
Definition within (n : nat) (D : Z) (x x' : list Z) : Prop := length x = n /\ length x' = n /\ (distance x x' <= D)%Z.

(** Such vectors are epsilon-indistinguishable after the noise. *)
Theorem geometric_is_private : forall n D b epsilon, 0 < b -> IZR D / b <= epsilon ->
  private epsilon (within n D) (geometric b).
Proof.
  intros n D b e B E x x' (L & L' & H) p p' P P'.
  apply (same_total_and_close_weights _ e _ _ _ _) with (3 := P) (4 := P').
  - intros W. apply totals_agree. congruence.
  - intros y. unfold geometric. rewrite L, L'. destruct (length y =? n)%nat eqn:N; [|lra]. apply Nat.eqb_eq in N.
    rewrite <- exp_plus. assert (I : 0 < / b) by now apply Rinv_0_lt_compat.
    pose proof (triangle x x' y ltac:(congruence) ltac:(congruence)) as T.
      assert (T' : (distance x' y <= distance x y + D)%Z) by lia.
    apply IZR_le in T'. rewrite plus_IZR in T'. apply Rmult_le_compat_r with (r := / b) in T'; [|lra]. unfold Rdiv in *.
    assert (C : - IZR (distance x y) * / b <= e + - IZR (distance x' y) * / b) by lra.
    destruct C as [C| ->]; [left; now apply exp_increasing | lra].
Qed.

(** At the output x the factor is exactly e^(distance / b): no smaller epsilon holds. *)
Theorem geometric_is_tight : forall b epsilon x x' p p', 0 < b -> length x = length x' ->
  drawn_by (geometric b x) p -> drawn_by (geometric b x') p' -> epsilon < IZR (distance x x') / b ->
  p x > exp epsilon * p' x /\ ~ indistinguishable epsilon 0 p p'.
Proof.
  intros b e x x' p p' B L P P' H.
  assert (N : forall x, forall o, 0 <= geometric b x o) by (intros; apply geometric_nonneg).
  assert (G : p x > exp e * p' x).
  { destruct P as (W & W0 & HW & E), P' as (W' & _ & HW' & E').
    apply (totals_agree b x x') in HW; auto. rewrite (is_lub_u _ _ _ HW' HW) in E'. rewrite E, E'. unfold geometric.
      rewrite L, Nat.eqb_refl, distance_self.
    rewrite (distance_sym x' x). unfold Rdiv. rewrite Ropp_0, Rmult_0_l, exp_0, <- Rmult_assoc.
      apply Rmult_lt_compat_r; [now apply Rinv_0_lt_compat|].
    rewrite <- exp_plus, <- exp_0. apply exp_increasing. unfold Rdiv in H. lra. }
  split; auto. intros I. assert (C : close e p p') by (apply indistinguishable_is_close; auto; intros;
    eapply drawn_is_law; eauto).
  specialize (C x). lra.
Qed.

(** ** What the program does besides: the scale's rounding, and ends of the range *)

(** The scale is D / epsilon, rounded *up* to a multiple of a unit. *)
Definition smallest_scale (D : Z) (epsilon unit : Q) : Q := (inject_Z (Qceiling (inject_Z D / epsilon / unit)) * unit)%Q.

(** So the scale is positive, and D / b is at most epsilon. *)
Theorem scale_is_large_enough : forall D epsilon unit, (0 < D)%Z -> (0 < epsilon)%Q -> (0 < unit)%Q ->
  0 < Q2R (smallest_scale D epsilon unit) /\ IZR D / Q2R (smallest_scale D epsilon unit) <= Q2R epsilon.
Proof.
  intros D e u HD He Hu. set (b := smallest_scale D e u).
  assert (Hb : (inject_Z D / e <= b)%Q).
  { unfold b, smallest_scale. apply Qle_trans with (inject_Z D / e / u * u)%Q; [rewrite Qmult_comm, Qmult_div_r;
    [apply Qle_refl | intros Z; rewrite Z in Hu; now apply Qlt_irrefl in Hu]|].
    apply Qmult_le_compat_r; [apply Qle_ceiling | now apply Qlt_le_weak]. }
  apply Qle_Rle in Hb. apply Qlt_Rlt in He, Hu. rewrite RMicromega.Q2R_0 in *.
  assert (HD' : 0 < IZR D) by now apply (IZR_lt 0).
  assert (E : Q2R (inject_Z D / e) = IZR D / Q2R e).
  { rewrite Q2R_div; [unfold Q2R at 1; simpl; now rewrite Rinv_1, Rmult_1_r|]. intros Z. apply Qeq_eqR in Z.
    rewrite RMicromega.Q2R_0 in Z. lra. }
  rewrite E in Hb. assert (0 < IZR D / Q2R e) by now apply Rdiv_lt_0_compat. assert (B : 0 < Q2R b) by lra. split; auto.
  apply Rmult_le_reg_r with (Q2R b); auto. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  apply Rmult_le_compat_l with (r := Q2R e) in Hb; [|lra].
    replace (Q2R e * (IZR D / Q2R e)) with (IZR D) in Hb by (field; lra). lra.
Qed.

(** A number that is cut off to [-limit, limit]. *)
Definition cut (limit z : Z) : Z := Z.max (- limit) (Z.min limit z).

(** Cutting off records first does not move them apart. *)
Theorem cutting_brings_together : forall limit x x', (0 <= limit)%Z -> (Z.abs (cut limit x - cut limit x') <= Z.abs (x - x'))%Z.
Proof. intros. unfold cut. lia. Qed.

(** Where the noise z is beyond 2 limits, the program adds some z' with the same sign that is beyond 2 limits too. The sum, which
    is cut off, is the same: so a release is a function of x + z, as if the noise had no end. *)
Theorem cut_noise_is_post_processing : forall limit x z z', (Z.abs x <= limit)%Z ->
  z' = z \/ (2 * limit <= z /\ 2 * limit <= z')%Z \/ (z <= - (2 * limit) /\ z' <= - (2 * limit))%Z ->
    cut limit (x + z') = cut limit (x + z).
Proof. intros. unfold cut. lia. Qed.

(** ** Votes *)

(** A file is a list of persons, a person a list of rows. A rule that reads the rows of one person alone turns them into votes for
    cells, at most m of them. *)
Definition at_most (m : nat) (rule : list nat -> list nat) : Prop := forall rows, (length (rule rows) <= m)%nat.

(** The histogram counts the votes of all persons for each cell. *)
Definition histogram (cells : list nat) (rule : list nat -> list nat) (file : list (list nat)) : list Z :=
  map (fun cell => Z.of_nat (count_occ Nat.eq_dec (flat_map rule file) cell)) cells.

(** Neighbours: one file has the rows of one person more. *)
Definition add_or_remove (file file' : list (list nat)) : Prop :=
  exists before person after, (file = before ++ person :: after /\
    file' = before ++ after) \/ (file' = before ++ person :: after /\ file = before ++ after).

(** The second relation: one person has other rows. *)
Definition replace_one (file file' : list (list nat)) : Prop :=
  exists before person person' after, file = before ++ person :: after /\ file' = before ++ person' :: after.

(** The counts of some votes, cell by cell. *)
Definition counts_of (cells votes : list nat) : list Z := map (fun cell => Z.of_nat (count_occ Nat.eq_dec votes cell)) cells.

Lemma counts_sum : forall cells votes, NoDup cells -> (l1_norm (counts_of cells votes) <= Z.of_nat (length votes))%Z.
Proof.
  intros cells votes N. induction votes as [|v votes IH].
  - unfold counts_of. clear N. induction cells as [|c cells IH]; simpl in *; lia.
  - cbn [length]. rewrite Nat2Z.inj_succ.
    assert (G : (l1_norm (counts_of cells (v :: votes)) <= l1_norm (counts_of cells votes) + (if in_dec Nat.eq_dec v cells
      then 1 else 0))%Z); [|revert G; destruct (in_dec Nat.eq_dec v cells); lia].
    clear IH. unfold counts_of. induction cells as [|c cells IH]; [simpl; lia|]. inversion N as [|? ? C N']; subst.
      specialize (IH N').
    cbn [map l1_norm count_occ] in *. revert IH. destruct (Nat.eq_dec v c) as [->|n].
    + destruct (in_dec Nat.eq_dec c (c :: cells)) as [_|x]; [|exfalso; apply x; simpl; auto].
      destruct (in_dec Nat.eq_dec c cells); [contradiction | lia].
    + destruct (in_dec Nat.eq_dec v cells), (in_dec Nat.eq_dec v (c :: cells)) as [|x]; try lia. exfalso. apply x. simpl; auto.
Qed.

(** Votes beside the same other votes move the histogram by the distance of their own counts. *)
Lemma own_votes_move : forall cells rest1 rest2 v v',
  distance (counts_of cells (rest1 ++ v ++ rest2)) (counts_of cells (rest1 ++ v' ++ rest2)) = distance (counts_of cells v)
    (counts_of cells v').
Proof.
  intros. unfold counts_of. induction cells as [|c cells IH]; simpl; auto. rewrite IH, !count_occ_app. lia.
Qed.

Lemma histogram_splits : forall cells rule before person after,
  histogram cells rule (before ++ person :: after) = counts_of cells (flat_map rule before ++ rule person ++ flat_map rule
    after).
Proof. intros. unfold histogram, counts_of. rewrite flat_map_app. simpl. reflexivity. Qed.

Lemma histogram_without : forall cells rule before after,
  histogram cells rule (before ++ after) = counts_of cells (flat_map rule before ++ [] ++ flat_map rule after).
Proof. intros. unfold histogram, counts_of. now rewrite flat_map_app. Qed.

Lemma distance_to_none : forall cells v, distance (counts_of cells v) (counts_of cells []) = l1_norm (counts_of cells v) /\
  distance (counts_of cells []) (counts_of cells v) = l1_norm (counts_of cells v).
Proof. intros. unfold counts_of. induction cells as [|c cells [IH IH']]; simpl in *; [auto|]. rewrite IH, IH'. lia. Qed.

(** One person more or less moves the histogram by at most m in l1 distance. *)
Theorem one_person_moves_m : forall cells m rule file file', NoDup cells -> at_most m rule -> add_or_remove file file' ->
  within (length cells) (Z.of_nat m) (histogram cells rule file) (histogram cells rule file').
Proof.
  intros cells m rule file file' N M (before & person & after & [[-> ->]|[-> ->]]);
    (split; [apply map_length | split; [apply map_length|]]); rewrite histogram_splits, histogram_without, own_votes_move;
    destruct (distance_to_none cells (rule person)) as [E E']; rewrite ?E, ?E';
    pose proof (counts_sum cells (rule person) N); specialize (M person); lia.
Qed.

(** Another person in someone's place moves it by at most 2 m. *)
Theorem another_person_moves_2m : forall cells m rule file file', NoDup cells -> at_most m rule -> replace_one file file' ->
  within (length cells) (2 * Z.of_nat m) (histogram cells rule file) (histogram cells rule file').
Proof.
  intros cells m rule file file' N M (before & person & person' & after & -> & ->).
  split; [apply map_length | split; [apply map_length|]]. rewrite 2!histogram_splits, own_votes_move.
  pose proof (distance_of_norms (counts_of cells (rule person)) (counts_of cells (rule person'))).
  pose proof (counts_sum cells (rule person) N). pose proof (counts_sum cells (rule person') N).
  pose proof (M person). pose proof (M person'). lia.
Qed.

(** The synthesizer's counts: m votes a person, noise of scale b >= m / epsilon, or 2 m / epsilon where persons are replaced. *)
Theorem votes_are_private : forall cells m rule b epsilon, NoDup cells -> at_most m rule -> 0 < b -> INR m / b <= epsilon ->
  private epsilon add_or_remove (fun file => geometric b (histogram cells rule file)).
Proof.
  intros cells m rule b e N M B E file file' H. apply (geometric_is_private (length cells) (Z.of_nat m) b e); auto.
  - now rewrite <- INR_IZR_INZ.
  - now apply one_person_moves_m.
Qed.

(** The same where persons are replaced: the scale must be twice as large. *)
Theorem votes_are_private_for_replacing : forall cells m rule b epsilon, NoDup cells -> at_most m rule -> 0 < b ->
  2 * INR m / b <= epsilon ->
  private epsilon replace_one (fun file => geometric b (histogram cells rule file)).
Proof.
  intros cells m rule b e N M B E file file' H. apply (geometric_is_private (length cells) (2 * Z.of_nat m) b e); auto.
  - now rewrite mult_IZR, <- INR_IZR_INZ.
  - now apply another_person_moves_2m.
Qed.

(** The rule of the programs: the first m votes of a person count. A row may have no vote. *)
Definition first_votes (m : nat) (vote : nat -> option nat) (rows : list nat) : list nat :=
  firstn m (flat_map (fun row => match vote row with Some cell => [cell] | None => [] end) rows).

(** So the rule has at most m votes. *)
Theorem first_votes_are_at_most_m : forall m vote, at_most m (first_votes m vote).
Proof. intros m vote rows. apply firstn_le_length. Qed.

(** One row of a person: if the person's first m votes count, removing or adding one row moves the histogram by at most 2. *)
Theorem one_row_moves_2 : forall cells m (earlier later : list nat) vote, NoDup cells ->
  (distance (counts_of cells (firstn m (earlier ++ vote :: later))) (counts_of cells (firstn m (earlier ++ later))) <= 2)%Z.
Proof.
  intros cells m earlier later vote N. revert m. induction earlier as [|e earlier IH]; intros [|m];
    try (rewrite 2!firstn_O, distance_self; lia).
  - change (firstn (S m) ([] ++ vote :: later)) with (vote :: firstn m later). change ([] ++ later) with later.
    assert (S : exists more, firstn (S m) later = firstn m later ++ more /\ (length more <= 1)%nat).
    { exists (firstn 1 (skipn m later)). split; [|apply firstn_le_length]. clear. revert later.
      induction m as [|m IH]; intros [|a l]; auto.
      cbn [firstn skipn app]. now rewrite <- IH. }
    destruct S as (more & -> & L). change (vote :: firstn m later) with ([] ++ [vote] ++ firstn m later).
    pose proof (counts_sum cells [vote] N) as C1. pose proof (counts_sum cells more N) as C2. cbn [length] in C1.
    pose proof (distance_of_norms (counts_of cells [vote]) (counts_of cells more)) as D.
    assert (E : forall a, counts_of cells (firstn m later ++ a) = counts_of cells ([] ++ a ++ firstn m later)).
    { intros a. unfold counts_of. apply map_ext. intros c. rewrite !count_occ_app. simpl. f_equal. lia. }
    rewrite E, own_votes_move. lia.
  - cbn [app firstn]. pose proof (own_votes_move cells [e] [] (firstn m (earlier ++ vote :: later)) (firstn m (earlier ++
    later))) as O.
    rewrite !app_nil_r in O. simpl app in O. rewrite O. apply IH.
Qed.

(** Replacing one row by another moves it by at most 4. *)
Theorem another_row_moves_4 : forall cells m (earlier later : list nat) vote vote', NoDup cells ->
  (distance (counts_of cells (firstn m (earlier ++ vote :: later)))
     (counts_of cells (firstn m (earlier ++ vote' :: later))) <= 4)%Z.
Proof.
  intros cells m earlier later vote vote' N. pose proof (one_row_moves_2 cells m earlier later vote N) as A.
  pose proof (one_row_moves_2 cells m earlier later vote' N) as B. rewrite distance_sym in A.
  pose proof (triangle (counts_of cells (firstn m (earlier ++ later))) (counts_of cells (firstn m (earlier ++ vote :: later)))
    (counts_of cells (firstn m (earlier ++ vote' :: later))) ltac:(unfold counts_of; now rewrite !map_length)
    ltac:(unfold counts_of; now rewrite !map_length)) as T.
  rewrite distance_sym in B. lia.
Qed.

(** One row less, of any person. *)
Definition one_row_less (file file' : list (list nat)) : Prop := exists before earlier row later after,
  file = before ++ (earlier ++ row :: later) :: after /\ file' = before ++ (earlier ++ later) :: after.

(** One file has one row more. *)
Definition one_row (file file' : list (list nat)) : Prop := one_row_less file file' \/ one_row_less file' file.

(** One row is replaced by any other row, of the same person or of another one. *)
Definition another_row (file file' : list (list nat)) : Prop :=
  exists between, one_row_less file between /\ one_row_less file' between.

Lemma one_row_of_a_file : forall cells m vote file file', NoDup cells -> one_row_less file file' ->
  (distance (histogram cells (first_votes m vote) file) (histogram cells (first_votes m vote) file') <= 2)%Z.
Proof.
  intros cells m vote file file' N (before & earlier & row & later & after & -> & ->).
  rewrite 2!histogram_splits, own_votes_move. unfold first_votes. rewrite 2!flat_map_app. cbn [flat_map].
  destruct (vote row); [now apply one_row_moves_2 | cbn [app]; rewrite distance_self; lia].
Qed.

(** In the whole file, one row more or less moves the counts by at most 2, and another row by at most 4. *)
Lemma rows_of_files : forall cells m vote, NoDup cells -> let counts := histogram cells (first_votes m vote) in
  (forall file file', one_row file file' -> within (length cells) 2 (counts file) (counts file')) /\
  (forall file file', another_row file file' -> within (length cells) 4 (counts file) (counts file')).
Proof.
  intros cells m vote N counts. assert (L : forall file, length (counts file) = length cells) by (intros; apply map_length).
  split; intros file file' H; repeat split; auto.
  - destruct H as [H|H]; apply (one_row_of_a_file cells m vote) in H; auto. rewrite distance_sym. auto.
  - destruct H as (between & A & B). apply (one_row_of_a_file cells m vote) in A, B; auto.
    fold (counts file) (counts between) in A.
    fold (counts file') (counts between) in B. rewrite distance_sym in A. rewrite distance_sym in B.
    pose proof (triangle (counts between) (counts file) (counts file')) as T. rewrite !L in T.
    specialize (T eq_refl eq_refl). lia.
Qed.

(** [Votes.record_epsilon]: noise that hides a change of s with epsilon hides one row more or less with 2 epsilon / s, and
    another row with 4 epsilon / s, however many votes a person has. *)
Theorem one_row_has_its_own_epsilon : forall cells m vote b epsilon s, NoDup cells -> 0 < b -> 0 < s -> s / b <= epsilon ->
  private (2 * epsilon / s) one_row (fun file => geometric b (histogram cells (first_votes m vote) file)) /\
  private (4 * epsilon / s) another_row (fun file => geometric b (histogram cells (first_votes m vote) file)).
Proof.
  intros cells m vote b e s N B S E. destruct (rows_of_files cells m vote N) as [One Other].
  assert (I : / b <= e / s).
  { apply Rmult_le_reg_r with s; auto. unfold Rdiv in *. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  split; intros file file' H; [apply (geometric_is_private (length cells) 2 b) | apply (geometric_is_private (length cells) 4 b)];
    auto; unfold Rdiv in *; lra.
Qed.

(** Two rounds: counts of the first round, then counts of cells that were chosen by the *noisy* first ones. Budgets add up. *)
Lemma two_rounds : forall F s (counts1 : F -> list Z) b1 e1 n1 (counts2 : list Z -> F -> list Z) (b2 : list Z -> R) e2 n2
    (file file' : F) p p' (q q' : list Z -> list Z -> R),
  0 < b1 -> IZR s / b1 <= e1 -> within n1 s (counts1 file) (counts1 file') ->
  (forall y, 0 < b2 y /\ IZR s / b2 y <= e2 /\ within (n2 y) s (counts2 y file) (counts2 y file')) ->
  drawn_by (geometric b1 (counts1 file)) p -> drawn_by (geometric b1 (counts1 file')) p' ->
  (forall y, drawn_by (geometric (b2 y) (counts2 y file)) (q y) /\ drawn_by (geometric (b2 y) (counts2 y file')) (q' y)) ->
  indistinguishable (e1 + e2) 0 (then_ p q) (then_ p' q').
Proof.
  intros F s counts1 b1 e1 n1 counts2 b2 e2 n2 file file' p p' q q' B1 E1 W1 H2 P P' Q.
  assert (Pos : forall b x r, drawn_by (geometric b x) r -> forall o, 0 <= r o).
  { intros b x r D o. apply drawn_is_law in D; [apply D | intros; apply geometric_nonneg]. }
  apply close_is_indistinguishable, composition.
  - eauto.
  - intros y. destruct (Q y). eauto.
  - apply indistinguishable_is_close; eauto. now apply (geometric_is_private n1 s b1 e1 B1 E1 _ _ W1).
  - intros y. destruct (Q y) as [Q1 Q2]. destruct (H2 y) as (B2 & E2 & W2). apply indistinguishable_is_close; eauto.
    now apply (geometric_is_private (n2 y) s (b2 y) e2 B2 E2 _ _ W2).
Qed.

(** What two rounds release about a file: the first noisy counts, and the second ones. *)
Definition two_noisy_counts (counts1 : list (list nat) -> list Z) (b1 : R) (counts2 : list Z -> list (list nat) -> list Z)
    (b2 : list Z -> R) (file : list (list nat)) (both : list Z * list Z -> R) : Prop :=
  exists p q, drawn_by (geometric b1 (counts1 file)) p /\ (forall y, drawn_by (geometric (b2 y) (counts2 y file)) (q y)) /\
    both = then_ p q.

(** Two rounds hide a person who is added or removed, and with twice the scales a person who is replaced. Cells,
  rule and scale of the
    second round may depend on what the first one released. *)
Theorem two_rounds_are_private : forall cells1 m rule1 b1 epsilon1
    (cells2 : list Z -> list nat) (rule2 : list Z -> list nat -> list nat) (b2 : list Z -> R) epsilon2 file file' both both',
  NoDup cells1 -> at_most m rule1 -> 0 < b1 -> (forall y, NoDup (cells2 y) /\ at_most m (rule2 y) /\ 0 < b2 y) ->
  two_noisy_counts (histogram cells1 rule1) b1 (fun y => histogram (cells2 y) (rule2 y)) b2 file both ->
  two_noisy_counts (histogram cells1 rule1) b1 (fun y => histogram (cells2 y) (rule2 y)) b2 file' both' ->
  (add_or_remove file file' /\ INR m / b1 <= epsilon1 /\ (forall y, INR m / b2 y <= epsilon2) \/
    replace_one file file' /\ 2 * INR m / b1 <= epsilon1 /\ (forall y, 2 * INR m / b2 y <= epsilon2)) ->
  indistinguishable (epsilon1 + epsilon2) 0 both both'.
Proof.
  intros cells1 m rule1 b1 e1 cells2 rule2 b2 e2 file file' both both' N1 M1 B1 H2 (p & q & P & Q & ->) (p' & q' & P' & Q' &
    ->) A.
  destruct A as [(A & E1 & E2)|(A & E1 & E2)].
  - apply (two_rounds _ (Z.of_nat m) (histogram cells1 rule1) b1 e1 (length cells1) (fun y => histogram (cells2 y) (rule2 y))
    b2 e2
      (fun y => length (cells2 y)) file file'); auto; rewrite <- ?INR_IZR_INZ; auto; [now apply one_person_moves_m|].
    intros y. destruct (H2 y) as (N2 & M2 & B2). split; [|split]; rewrite <- ?INR_IZR_INZ; auto. now apply one_person_moves_m.
  - assert (D : IZR (2 * Z.of_nat m) = 2 * INR m) by now rewrite mult_IZR, <- INR_IZR_INZ.
    apply (two_rounds _ (2 * Z.of_nat m) (histogram cells1 rule1) b1 e1 (length cells1) (fun y => histogram (cells2 y) (rule2
      y)) b2 e2
      (fun y => length (cells2 y)) file file'); auto; rewrite ?D; auto; [now apply another_person_moves_2m|].
    intros y. destruct (H2 y) as (N2 & M2 & B2). split; [|split]; rewrite ?D; auto. now apply another_person_moves_2m.
Qed.

(** One row in two rounds: the same shares of the sum of both budgets as in one round. *)
Theorem one_row_in_two_rounds : forall cells1 m vote1 b1 epsilon1 (cells2 : list Z -> list nat)
    (vote2 : list Z -> nat -> option nat) (b2 : list Z -> R) epsilon2 s file file' both both',
  NoDup cells1 -> 0 < b1 -> 0 < s -> s / b1 <= epsilon1 -> (forall y, NoDup (cells2 y) /\ 0 < b2 y /\ s / b2 y <= epsilon2) ->
  let counts1 := histogram cells1 (first_votes m vote1) in
  let counts2 := fun y => histogram (cells2 y) (first_votes m (vote2 y)) in
  two_noisy_counts counts1 b1 counts2 b2 file both -> two_noisy_counts counts1 b1 counts2 b2 file' both' ->
  (one_row file file' -> indistinguishable (2 * (epsilon1 + epsilon2) / s) 0 both both') /\
  (another_row file file' -> indistinguishable (4 * (epsilon1 + epsilon2) / s) 0 both both').
Proof.
  intros cells1 m vote1 b1 e1 cells2 vote2 b2 e2 s file file' both both' N1 B1 S E1 H2 counts1 counts2 (p & q & P & Q & ->)
    (p' & q' & P' & Q' & ->).
  assert (I : forall b e, 0 < b -> s / b <= e -> / b <= e / s).
  { intros b e B E. apply Rmult_le_reg_r with s; auto. unfold Rdiv in *. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  destruct (rows_of_files cells1 m vote1 N1) as [One Other].
  assert (Each : forall y, 0 < b2 y /\ / b2 y <= e2 / s) by (intros y; destruct (H2 y) as (_ & B2 & E2); auto).
  split; intros A; rewrite Rmult_plus_distr_l, Rdiv_plus_distr;
    [apply (two_rounds _ 2 counts1 b1 _ (length cells1) counts2 b2 _ (fun y => length (cells2 y)) file file')
    |apply (two_rounds _ 4 counts1 b1 _ (length cells1) counts2 b2 _ (fun y => length (cells2 y)) file file')]; auto;
    try (specialize (I b1 e1 B1 E1); unfold Rdiv in *; lra);
    intros y; destruct (Each y) as [B2 J], (H2 y) as (N2 & _), (rows_of_files (cells2 y) m (vote2 y) N2) as [One2 Other2];
    (split; [|split]); auto; try (unfold Rdiv in *; lra); [now apply One2 | now apply Other2].
Qed.
