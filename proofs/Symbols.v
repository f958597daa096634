(** * Symbols: k-ary randomised response, subset selection, and text and label as one symbol

    A record has t heavy symbols of a finite alphabet.
      A heavy symbol has the integer weight A, every other one the weight B. This is
    what [RandomizedResponse] (t = 1), [Codebook], [LearnedCodebook], [Description] and [JointResponse] draw from. *)

From Coq Require Import Reals List Lra Lia ZArith Bool PeanoNat FinFun.
From Adept Require Import Privacy.
Import ListNotations.
Open Scope R_scope.

(** ** Subset selection over any finite alphabet *)

Section Selection.

(** The alphabet: a list of different symbols, and a test of what is in it. *)
Variable T : Type.
Variable same : forall a b : T, {a = b} + {a <> b}.
Variable alphabet : list T.
Variable inside : T -> bool.
Hypothesis different : NoDup alphabet.
Hypothesis inside_spec : forall s, inside s = true <-> In s alphabet.

(** Exactly t symbols of the alphabet are heavy. *)
Definition heavy_set (t : nat) (heavy : T -> bool) : Prop := length (filter heavy alphabet) = t.

(** The weight of a symbol for a record with these heavy symbols. What is no symbol has weight 0. *)
Definition selection (A B : Z) (heavy : T -> bool) (s : T) : R :=
  if inside s then if heavy s then IZR A else IZR B else 0.

(** The total W = t A + (k - t) B of all weights, as the programs compute it. *)
Definition total_weight (k t : nat) (A B : Z) : Z := Z.of_nat t * A + (Z.of_nat k - Z.of_nat t) * B.

Lemma selection_nonneg : forall A B heavy s, (0 <= A)%Z -> (0 <= B)%Z -> 0 <= selection A B heavy s.
Proof. intros A B h s HA HB. apply IZR_le in HA, HB. unfold selection. destruct (inside s), (h s); lra. Qed.

Lemma sum_of_selection : forall A B (heavy : T -> bool) l, (forall s, In s l -> inside s = true) ->
  sum (selection A B heavy) l = IZR (total_weight (length l) (length (filter heavy l)) A B).
Proof.
  intros A B h l. unfold total_weight. induction l as [|s l IH]; intros I; simpl sum; [simpl; f_equal; lia|].
  rewrite IH by (intros; apply I; simpl; auto). unfold selection at 1. rewrite (I s) by (simpl; auto). simpl filter.
  destruct (h s); rewrite <- plus_IZR; f_equal; cbn [length]; rewrite ?Nat2Z.inj_succ; ring.
Qed.

(** All weights together are W, for every record with t heavy symbols. *)
Lemma total_of_selection : forall t A B heavy, (0 <= A)%Z -> (0 <= B)%Z -> heavy_set t heavy ->
  probability (selection A B heavy) everything (IZR (total_weight (length alphabet) t A B)).
Proof.
  intros t A B h HA HB H. unfold heavy_set in H. rewrite <- H, <- sum_of_selection by (intros; now apply inside_spec).
  apply total_of_alphabet; auto.
  - intros; now apply selection_nonneg.
  - intros s S. unfold selection. destruct (inside s) eqn:E; [|easy]. now apply inside_spec in E.
Qed.

Lemma total_is_positive : forall t A B heavy, (0 < B <= A)%Z -> heavy_set t heavy -> (0 < length alphabet)%nat ->
  (0 < total_weight (length alphabet) t A B)%Z.
Proof.
  intros t A B h HB H K. unfold total_weight. assert (length (filter h alphabet) <= length alphabet)%nat.
  { clear. induction alphabet as [|a l IH]; simpl; [lia|]. destruct (h a); simpl; lia. }
  unfold heavy_set in H. nia.
Qed.

(** The weights are those of a law. *)
Theorem subset_selection_is_well_defined : forall t A B heavy,
  (0 < B <= A)%Z -> heavy_set t heavy -> (0 < length alphabet)%nat -> well_defined (selection A B heavy).
Proof.
  intros t A B h HB H K. apply total_makes_law with (IZR (total_weight (length alphabet) t A B)).
  - intros; apply selection_nonneg; lia.
  - apply (IZR_lt 0). eapply total_is_positive; eauto.
  - apply total_of_selection; auto; lia.
Qed.

(** A heavy symbol is released with probability A / W, every other one with probability B / W. *)
Theorem probability_of_a_symbol : forall t A B heavy p s, (0 <= A)%Z -> (0 <= B)%Z -> heavy_set t heavy ->
  drawn_by (selection A B heavy) p -> In s alphabet ->
  p s = (if heavy s then IZR A else IZR B) / IZR (total_weight (length alphabet) t A B).
Proof.
  intros t A B h p s HA HB H (W & _ & HW & E) S. rewrite E. apply inside_spec in S. unfold selection. rewrite S.
  now rewrite (is_lub_u _ _ _ HW (total_of_selection t A B h HA HB H)).
Qed.

(** The claim: if A <= e^epsilon B, subset selection is epsilon-private for any two records. [heavy] gives each record its heavy
    symbols, in any way whatever; only that there are exactly t of them counts. *)
Theorem subset_selection_is_private : forall (X : Type) (heavy : X -> T -> bool) t A B epsilon,
  (0 < B <= A)%Z -> IZR A <= exp epsilon * IZR B -> (forall x, heavy_set t (heavy x)) ->
  private epsilon (fun _ _ => True) (fun x => selection A B (heavy x)).
Proof.
  intros X h t A B e HB E H x x' _ p p' P P'.
  apply (same_total_and_close_weights _ e _ _ _ _) with (3 := P) (4 := P').
  - intros W HW. rewrite (is_lub_u _ _ _ HW (total_of_selection t A B (h x) ltac:(lia) ltac:(lia) (H x))).
    apply total_of_selection; auto; lia.
  - intros s. assert (IZR B <= IZR A) by (apply IZR_le; lia). assert (0 < IZR B) by (apply (IZR_lt 0); lia).
    assert (1 <= exp e).
    { destruct (Rle_lt_dec 1 (exp e)) as [|L]; auto. assert (exp e * IZR B < 1 * IZR B) by now apply Rmult_lt_compat_r. lra. }
    assert (IZR A <= exp e * IZR A) by (rewrite <- (Rmult_1_l (IZR A)) at 1; apply Rmult_le_compat_r; lra).
    assert (IZR B <= exp e * IZR B) by (rewrite <- (Rmult_1_l (IZR B)) at 1; apply Rmult_le_compat_r; lra).
    unfold selection. destruct (inside s); [|lra]. destruct (h x s), (h x' s); lra.
Qed.

(** The factor A / B is attained where a symbol is heavy for one record and not for the other: a smaller epsilon is not
    guaranteed. *)
Theorem subset_selection_is_tight : forall t A B heavy heavy' s epsilon p p', (0 < B <= A)%Z ->
  heavy_set t heavy -> heavy_set t heavy' -> In s alphabet -> heavy s = true -> heavy' s = false ->
  drawn_by (selection A B heavy) p -> drawn_by (selection A B heavy') p' ->
  exp epsilon * IZR B < IZR A -> ~ indistinguishable epsilon 0 p p'.
Proof.
  intros t A B h h' s e p p' HB H H' S E E' P P' L I.
  assert (forall g, forall o, 0 <= selection A B g o) by (intros; apply selection_nonneg; lia).
  assert (C : close e p p') by (apply indistinguishable_is_close; auto; intros; eapply drawn_is_law; eauto).
  specialize (C s). rewrite (probability_of_a_symbol t A B h p s), (probability_of_a_symbol t A B h' p' s), E, E' in C;
    auto; try lia.
  assert (0 < IZR (total_weight (length alphabet) t A B)).
  { apply (IZR_lt 0). eapply total_is_positive; eauto. destruct alphabet; [easy | simpl; lia]. }
  apply Rmult_le_compat_r with (r := IZR (total_weight (length alphabet) t A B)) in C; [|lra].
  unfold Rdiv in C. rewrite Rmult_assoc, Rinv_l in C; [|lra]. rewrite 2!Rmult_assoc, Rinv_l in C; lra.
Qed.

End Selection.

Arguments heavy_set {T}.
Arguments selection {T}.

(** ** Symbols that are numbers from 0 to k - 1: labels, codewords, descriptions *)

(** The k symbols. *)
Definition symbols (k : nat) : list nat := seq 0 k.

(** The test of being one of them. *)
Definition below (k : nat) (s : nat) : bool := (s <? k)%nat.

Lemma below_spec : forall k s, below k s = true <-> In s (symbols k).
Proof. intros. unfold below, symbols. rewrite in_seq, Nat.ltb_lt. lia. Qed.

(** The weights over k symbols. *)
Definition numbers (k : nat) (A B : Z) (heavy : nat -> bool) : nat -> R := selection (below k) A B heavy.

(** t different numbers below k are a heavy set: this is what [Block.nearest] and [Description] verify for each record. *)
Definition own (numbers : list nat) (s : nat) : bool := if in_dec Nat.eq_dec s numbers then true else false.

Lemma different_numbers_are_heavy : forall k t numbers, NoDup numbers -> length numbers = t ->
  (forall s, In s numbers -> (s < k)%nat) -> heavy_set (symbols k) t (own numbers).
Proof.
  intros k t l N L K. unfold heavy_set. rewrite <- L. apply Nat.le_antisymm.
  - apply NoDup_incl_length; [apply NoDup_filter, seq_NoDup|]. intros s S. apply filter_In in S. destruct S as [_ S].
    unfold own in S. now destruct (in_dec Nat.eq_dec s l).
  - apply NoDup_incl_length; auto. intros s S. apply filter_In. split; [apply in_seq; pose proof (K s S); lia|].
    unfold own. now destruct (in_dec Nat.eq_dec s l).
Qed.

(** Codewords and descriptions: a record is its t different symbols. *)
Record described (k t : nat) := {
  its : list nat;
  its_differ : NoDup its;
  its_number : length its = t;
  its_range : forall s, In s its -> (s < k)%nat }.
Arguments its {k t}.

(** The claim for [Codebook], [LearnedCodebook] and [Description]: epsilon-private for any two records. *)
Theorem descriptions_are_private : forall k t A B epsilon, (0 < B <= A)%Z -> IZR A <= exp epsilon * IZR B ->
  private epsilon (fun _ _ => True) (fun x : described k t => numbers k A B (own (its x))).
Proof.
  intros k t A B e HB E. apply subset_selection_is_private with (symbols k) t; auto.
  - apply Nat.eq_dec.
  - apply seq_NoDup.
  - apply below_spec.
  - intros [l N L K]. now apply different_numbers_are_heavy.
Qed.

(** k-ary randomised response: a record is one of k labels, and this label alone is heavy. *)
Record label (k : nat) := { place : nat; place_range : (place < k)%nat }.
Arguments place {k}.

Lemma NoDup_one : forall n : nat, NoDup [n].
Proof. intros. constructor; [simpl; tauto | constructor]. Qed.

(** The weights: A for the own label, B for each other one. *)
Definition response (k : nat) (A B : Z) (x : label k) : nat -> R := numbers k A B (own [place x]).

Lemma one_is_heavy : forall k (x : label k), heavy_set (symbols k) 1 (own [place x]).
Proof.
  intros k [x X]. apply different_numbers_are_heavy; auto; [apply NoDup_one | intros s [<-|[]]; exact X].
Qed.

(** The claim for [RandomizedResponse]: epsilon-private for any two labels. *)
Theorem randomized_response_is_private : forall k A B epsilon, (0 < B <= A)%Z -> IZR A <= exp epsilon * IZR B ->
  private epsilon (fun _ _ => True) (response k A B).
Proof.
  intros k A B e HB E. apply (subset_selection_is_private nat Nat.eq_dec (symbols k) (below k)) with 1%nat; auto.
  - apply seq_NoDup.
  - apply below_spec.
  - apply one_is_heavy.
Qed.

(** P(keep) = A / (A + (k - 1) B). *)
Theorem keep_probability : forall k A B (x : label k) p, (0 < B <= A)%Z -> drawn_by (response k A B x) p ->
  p (place x) = IZR A / IZR (A + (Z.of_nat k - 1) * B).
Proof.
  intros k A B x p HB P. rewrite (probability_of_a_symbol nat Nat.eq_dec (symbols k) (below k) (seq_NoDup k 0) (below_spec
    k) 1 A B (own [place x]));
    try lia; auto.
  - unfold own. destruct (in_dec Nat.eq_dec (place x) [place x]) as [_|n]; [|exfalso; apply n; simpl; auto].
    unfold symbols, total_weight. rewrite seq_length. f_equal. f_equal. lia.
  - apply one_is_heavy.
  - apply in_seq. destruct x; simpl; lia.
Qed.

(** The lecture's first theta, P(keep) = (epsilon + 1) / (epsilon + 2): weights A / B = 1 + epsilon. It is ln(1 +
    epsilon)-private, and that is at most epsilon (Habernal 2025). *)
Theorem lecture_theta_is_private : forall A B epsilon, (0 < B)%Z -> 0 < epsilon -> IZR A = (1 + epsilon) * IZR B ->
  private (ln (1 + epsilon)) (fun _ _ => True) (response 2 A B) /\ ln (1 + epsilon) <= epsilon /\
  forall (x : label 2) p, drawn_by (response 2 A B x) p -> p (place x) = (epsilon + 1) / (epsilon + 2).
Proof.
  intros A B e HB E H. assert (0 < IZR B) by now apply (IZR_lt 0).
  assert (IZR B <= IZR A) by (rewrite H; assert (0 <= e * IZR B) by (apply Rmult_le_pos; lra); lra).
  assert (HBA : (0 < B <= A)%Z) by (split; auto; now apply le_IZR).
  repeat split.
  - apply randomized_response_is_private; auto. rewrite exp_ln, H; lra.
  - left. rewrite <- (ln_exp e) at 2. apply ln_increasing; [lra | apply exp_ineq1; lra].
  - intros x p P. rewrite (keep_probability 2 A B x p); auto. simpl Z.of_nat. replace (A + (2 - 1) * B)%Z with (A + B)%Z by lia.
    rewrite plus_IZR, H. field. split; [lra|]. replace ((1 + e) * IZR B + IZR B) with ((e + 2) * IZR B) by ring.
    apply Rmult_integral_contrapositive. split; lra.
Qed.

(** ** Text and label as one symbol *)

Section Joint.

(** k outcomes of the text, L labels. *)
Variables k L : nat.

(** All pairs of an outcome and a label. *)
Definition pairs : list (nat * nat) := list_prod (symbols k) (symbols L).

(** The test of being one of them. *)
Definition below_both (s : nat * nat) : bool := below k (fst s) && below L (snd s).

Lemma pair_dec : forall a b : nat * nat, {a = b} + {a <> b}.
Proof. decide equality; apply Nat.eq_dec. Qed.

Lemma pairs_spec : forall s, below_both s = true <-> In s pairs.
Proof.
  intros [v c]. unfold below_both, pairs. rewrite andb_true_iff, in_prod_iff, <- 2!below_spec. easy.
Qed.

Lemma NoDup_pairs : NoDup pairs.
Proof.
  unfold pairs. generalize (seq_NoDup L 0). fold (symbols L). assert (H := seq_NoDup k 0). fold (symbols k) in H.
  induction (symbols k) as [|v l IH]; intros M; simpl; [constructor|]. inversion H as [|? ? V H']; subst.
  assert (A : forall l1 l2 : list (nat * nat), NoDup l1 -> NoDup l2 -> (forall a, In a l1 -> ~ In a l2) -> NoDup (l1 ++ l2)).
  { induction l1 as [|a l1 I1]; simpl; auto. intros l2 N1 N2 F. inversion N1; subst. constructor.
    - intros I. apply in_app_or in I. destruct I; [contradiction | eapply F; eauto].
    - apply I1; firstorder. }
  apply A; auto.
  - apply Injective_map_NoDup; auto. intros a b E. now injection E.
  - intros [a b] I J. apply in_map_iff in I. destruct I as (c & E & _). injection E as -> _. apply in_prod_iff in J. tauto.
Qed.

(** A record's heavy pairs: one of its t nearest outcomes, with its own label. *)
Definition with_label (heavy : nat -> bool) (c : nat) (s : nat * nat) : bool := heavy (fst s) && (snd s =? c)%nat.

(** A record of text and label: the t heavy outcomes of its text, and its label. *)
Record pair_of (t : nat) := {
  outcomes : nat -> bool;
  outcomes_heavy : heavy_set (symbols k) t outcomes;
  its_label : nat;
  label_range : (its_label < L)%nat }.

(** The weights of pairs for such a record. *)
Definition joint (t : nat) (A B : Z) (x : pair_of t) : nat * nat -> R :=
  selection below_both A B (with_label (outcomes t x) (its_label t x)).

Lemma length_filter_map : forall S U (f : S -> U) g l, length (filter g (map f l)) = length (filter (fun a => g (f a)) l).
Proof. induction l as [|a l IH]; simpl; auto. destruct (g (f a)); simpl; auto. Qed.

Lemma length_filter_none : forall S (f : S -> bool) l, (forall a, f a = false) -> length (filter f l) = 0%nat.
Proof. induction l as [|a l IH]; intros N; simpl; auto. now rewrite N, IH. Qed.

Lemma heavy_labels : forall c, (c < L)%nat -> length (filter (fun b => (b =? c)%nat) (symbols L)) = 1%nat.
Proof.
  intros c C. rewrite <- (different_numbers_are_heavy L 1 [c]); [|repeat constructor; easy|easy|simpl; intros s [<-|[]]; easy].
  unfold heavy_set. f_equal. apply filter_ext. intros b. unfold own. destruct (in_dec Nat.eq_dec b [c]) as [[->|[]]|n].
  - apply Nat.eqb_refl.
  - apply Nat.eqb_neq. intros ->. apply n. simpl; auto.
Qed.

(** There are exactly t heavy pairs, whatever the label. *)
Lemma t_pairs_are_heavy : forall t (x : pair_of t), heavy_set pairs t (with_label (outcomes t x) (its_label t x)).
Proof.
  intros t [h H c C]. unfold heavy_set in *. simpl. rewrite <- H. clear H. unfold pairs, with_label.
  induction (symbols k) as [|v l IH]; simpl; auto. rewrite filter_app, app_length, IH, length_filter_map. simpl.
  destruct (h v); simpl; [now rewrite heavy_labels | now rewrite length_filter_none].
Qed.

(** The claim for [JointResponse]: epsilon-private for any two pairs of text and label. *)
Theorem joint_response_is_private : forall t A B epsilon, (0 < B <= A)%Z -> IZR A <= exp epsilon * IZR B ->
  private epsilon (fun _ _ => True) (joint t A B).
Proof.
  intros t A B e HB E. apply subset_selection_is_private with pairs t; auto.
  - apply pair_dec.
  - apply NoDup_pairs.
  - apply pairs_spec.
  - apply t_pairs_are_heavy.
Qed.

(** The law of the text alone, if the pair has the law p. *)
Definition text_alone (p : nat * nat -> R) (v : nat) : R := sum (fun c => p (v, c)) (symbols L).

(** The same for the label. *)
Definition label_alone (p : nat * nat -> R) (c : nat) : R := sum (fun v => p (v, c)) (symbols k).

Lemma selection_by_text : forall A B h c v, (v < k)%nat -> (c < L)%nat ->
  sum (fun b => selection below_both A B (with_label h c) (v, b)) (symbols L)
    = IZR (if h v then A + (Z.of_nat L - 1) * B else Z.of_nat L * B).
Proof.
  intros A B h c v V C. rewrite (sum_ext _ _ (selection (below L) A B (fun b => h v && (b =? c)%nat))).
  - rewrite sum_of_selection by (intros; now apply below_spec). unfold symbols at 1. rewrite seq_length. f_equal.
    destruct (h v); simpl andb; [rewrite heavy_labels by easy | rewrite length_filter_none by easy]; unfold total_weight;
      change (Z.of_nat 1) with 1%Z; change (Z.of_nat 0) with 0%Z; ring.
  - intros b I. unfold selection, below_both, with_label; simpl. apply Nat.ltb_lt in V. unfold below at 1. now rewrite V.
Qed.

Lemma selection_by_label : forall t A B h c c', heavy_set (symbols k) t h -> (c < L)%nat -> (c' < L)%nat ->
  sum (fun v => selection below_both A B (with_label h c) (v, c')) (symbols k)
    = IZR (if (c' =? c)%nat then Z.of_nat t * A + (Z.of_nat k - Z.of_nat t) * B else Z.of_nat k * B).
Proof.
  intros t A B h c c' H C C'. rewrite (sum_ext _ _ (selection (below k) A B (fun v => h v && (c' =? c)%nat))).
  - rewrite sum_of_selection by (intros; now apply below_spec). unfold symbols at 1. rewrite seq_length. f_equal.
    destruct (c' =? c)%nat; simpl andb.
    + rewrite (filter_ext _ h) by (intros; apply andb_true_r). unfold heavy_set in H. now rewrite H.
    + rewrite length_filter_none by (intros; apply andb_false_r).
      unfold total_weight; change (Z.of_nat 1) with 1%Z; change (Z.of_nat 0) with 0%Z; ring.
  - intros b I. unfold selection, below_both, with_label; simpl. apply Nat.ltb_lt in C'. unfold below at 2. rewrite C'.
    now rewrite andb_true_r.
Qed.

(** A half of the pair has the law of its weights over W: what is common to text and label. *)
Lemma half_is_close : forall t A B e (x x' : pair_of t) p p' (half : nat -> nat -> nat * nat) l i, (0 < B <= A)%Z ->
  drawn_by (joint t A B x) p -> drawn_by (joint t A B x') p' ->
  sum (fun j => joint t A B x (half i j)) l <= exp e * sum (fun j => joint t A B x' (half i j)) l ->
  sum (fun j => p (half i j)) l <= exp e * sum (fun j => p' (half i j)) l.
Proof.
  intros t A B e x x' p p' half l i HB (W & W0 & HW & E) (W' & _ & HW' & E') H.
  assert (W' = W).
  { pose proof (is_lub_u _ _ _ HW (total_of_selection _ pair_dec pairs below_both NoDup_pairs pairs_spec t A B _
    ltac:(lia) ltac:(lia) (t_pairs_are_heavy t x))).
    pose proof (is_lub_u _ _ _ HW' (total_of_selection _ pair_dec pairs below_both NoDup_pairs pairs_spec t A B _
      ltac:(lia) ltac:(lia) (t_pairs_are_heavy t x'))).
    congruence. }
  subst W'. rewrite (sum_ext _ _ (fun j => / W * joint t A B x (half i j))) by (intros; rewrite E; unfold Rdiv; lra).
  rewrite (sum_ext _ (fun j => p' (half i j)) (fun j => / W * joint t A B x' (half i j))) by (intros; rewrite E';
    unfold Rdiv; lra).
  rewrite 2!sum_scale. assert (0 < / W) by now apply Rinv_0_lt_compat.
  apply Rmult_le_compat_l with (r := / W) in H; lra.
Qed.

Lemma factor_at_least_one : forall a b c, 0 < b -> b <= a -> a <= c * b -> 1 <= c.
Proof. intros. destruct (Rle_lt_dec 1 c); auto. assert (c * b < 1 * b) by now apply Rmult_lt_compat_r. lra. Qed.

(** The text alone: its weight is A + (L - 1) B if it is heavy, and L B otherwise. *)
Theorem text_alone_is_private : forall t A B epsilon (x x' : pair_of t) p p', (0 < B <= A)%Z ->
  IZR (A + (Z.of_nat L - 1) * B) <= exp epsilon * IZR (Z.of_nat L * B) ->
  drawn_by (joint t A B x) p -> drawn_by (joint t A B x') p' ->
  forall v, (v < k)%nat -> text_alone p v <= exp epsilon * text_alone p' v.
Proof.
  intros t A B e x x' p p' HB E P P' v V. apply (half_is_close t A B e x x' p p' (fun i j => (i, j))); auto.
  unfold joint. destruct x as [h H c C], x' as [h' H' c' C']; simpl. rewrite 2!selection_by_text by auto.
  assert (0 < IZR (Z.of_nat L * B)) by (apply (IZR_lt 0); nia).
  assert (IZR (Z.of_nat L * B) <= IZR (A + (Z.of_nat L - 1) * B)) by (apply IZR_le; nia).
  pose proof (factor_at_least_one _ _ _ H0 H1 E). destruct (h v), (h' v); nra.
Qed.

(** The label alone: its weight is t A + (k - t) B if it is the own one, and k B otherwise. *)
Theorem label_alone_is_private : forall t A B epsilon (x x' : pair_of t) p p', (0 < B <= A)%Z -> (0 < k)%nat ->
  IZR (Z.of_nat t * A + (Z.of_nat k - Z.of_nat t) * B) <= exp epsilon * IZR (Z.of_nat k * B) ->
  drawn_by (joint t A B x) p -> drawn_by (joint t A B x') p' ->
  forall c, (c < L)%nat -> label_alone p c <= exp epsilon * label_alone p' c.
Proof.
  intros t A B e x x' p p' HB K E P P' b Hb. apply (half_is_close t A B e x x' p p' (fun i j => (j, i))); auto.
  unfold joint. destruct x as [h H c C], x' as [h' H' c' C']; simpl.
  rewrite (selection_by_label t A B h c b), (selection_by_label t A B h' c' b) by auto.
  assert (0 < IZR (Z.of_nat k * B)) by (apply (IZR_lt 0); nia).
  assert (IZR (Z.of_nat k * B) <= IZR (Z.of_nat t * A + (Z.of_nat k - Z.of_nat t) * B)) by (apply IZR_le; nia).
  pose proof (factor_at_least_one _ _ _ H0 H1 E). destruct (b =? c)%nat, (b =? c')%nat; nra.
Qed.

End Joint.

(** ** Codewords that depend on the label: [labels=copy]

    The label is released as it is, and with it a symbol whose alphabet and weights (k, t,
      A and B) are a public function of it. *)

Section LabelAware.

Variables size top : nat -> nat.
Variables heavy_weight light_weight : nat -> Z.

(** A record: its label, and the heavy symbols of its text among the symbols of its label. *)
Record labelled := {
  copied : nat;
  nearest : nat -> bool;
  nearest_heavy : heavy_set (symbols (size copied)) (top copied) nearest }.

(** The weights of pairs (symbol, label): those of the record's label, and nothing for other labels. *)
Definition label_aware (x : labelled) (s : nat * nat) : R :=
  if (snd s =? copied x)%nat
  then numbers (size (copied x)) (heavy_weight (copied x)) (light_weight (copied x)) (nearest x) (fst s)
  else 0.

Lemma label_aware_total : forall x W, (0 < light_weight (copied x) <= heavy_weight (copied x))%Z ->
  probability (label_aware x) everything W <->
  W = IZR (total_weight (size (copied x)) (top (copied x)) (heavy_weight (copied x)) (light_weight (copied x))).
Proof.
  intros [c n N] W HB. simpl in *. set (w := label_aware _).
  assert (H : probability w everything (IZR (total_weight (size c) (top c) (heavy_weight c) (light_weight c)))).
  { replace (IZR _) with (sum w (map (fun v => (v, c)) (symbols (size c)))).
    - apply total_of_alphabet.
      + apply pair_dec.
      + intros [v b]. unfold w, label_aware; simpl. destruct (b =? c)%nat; [apply selection_nonneg; lia | lra].
      + apply Injective_map_NoDup; [intros a b E; now injection E | apply seq_NoDup].
      + intros [v b] O. unfold w, label_aware; simpl. destruct (Nat.eqb_spec b c) as [->|]; auto.
        unfold numbers, selection. destruct (below (size c) v) eqn:E; auto. exfalso. apply O, in_map_iff. exists v.
          split; auto. now apply below_spec.
    - rewrite sum_map. rewrite (sum_ext _ _ (numbers (size c) (heavy_weight c) (light_weight c) n)).
      + unfold numbers. rewrite sum_of_selection by (intros; now apply below_spec). unfold symbols at 1.
        rewrite seq_length. unfold heavy_set in N. now rewrite N.
      + intros. unfold w, label_aware; simpl. now rewrite Nat.eqb_refl. }
  split; [intros HW; now apply (is_lub_u _ _ _ HW H) | now intros ->].
Qed.

(** These are the weights of a law. *)
Theorem label_aware_is_well_defined : forall x, (0 < light_weight (copied x) <= heavy_weight (copied x))%Z ->
  (0 < size (copied x))%nat -> well_defined (label_aware x).
Proof.
  intros x HB K. eapply total_makes_law; [| |apply label_aware_total; [exact HB | reflexivity]].
  - intros [v b]. unfold label_aware; simpl. destruct (b =? copied x)%nat; [apply selection_nonneg; lia | lra].
  - apply (IZR_lt 0). pose proof (total_is_positive nat (symbols (size (copied x))) (top (copied x)) _ _ (nearest x) HB
      (nearest_heavy x)) as P. unfold symbols in P at 1 2. rewrite seq_length in P. now apply P.
Qed.

(** Records with the same label cannot be told apart by more than e^epsilon. *)
Theorem same_label_is_private : forall epsilon,
  (forall c, (0 < light_weight c <= heavy_weight c)%Z /\ IZR (heavy_weight c) <= exp epsilon * IZR (light_weight c)) ->
  private epsilon (fun x x' => copied x = copied x') label_aware.
Proof.
  intros e H x x' S p p' P P'. destruct (H (copied x)) as [HB E].
  apply (same_total_and_close_weights _ e _ _ _ _) with (3 := P) (4 := P').
  - intros W HW. apply label_aware_total in HW; auto. apply label_aware_total; rewrite <- S; auto.
  - intros [v b]. unfold label_aware; simpl. rewrite <- S. destruct (b =? copied x)%nat; [|lra].
    assert (IZR (light_weight (copied x)) <= IZR (heavy_weight (copied x))) by (apply IZR_le; lia).
    assert (0 < IZR (light_weight (copied x))) by (apply (IZR_lt 0); lia).
    pose proof (factor_at_least_one _ _ _ H1 H0 E). unfold numbers, selection.
    destruct (below (size (copied x)) v); [|lra]. destruct (nearest x v), (nearest x' v); nra.
Qed.

(** Records with different labels can always be told apart: no epsilon holds for the pair, nor for a text that names its label. *)
Theorem different_labels_are_told_apart : forall epsilon x x' p p',
  (forall c, (0 < light_weight c <= heavy_weight c)%Z /\ (0 < size c)%nat) -> copied x <> copied x' ->
  drawn_by (label_aware x) p -> drawn_by (label_aware x') p' -> ~ indistinguishable epsilon 0 p p'.
Proof.
  intros e x x' p p' H S P P' I. destruct (H (copied x)) as [HB K].
  assert (N : forall y s, 0 <= label_aware y s).
  { intros y [v b]. destruct (H (copied y)). unfold label_aware. destruct (_ =? _)%nat; [apply selection_nonneg; lia | lra]. }
  assert (C : close e p p') by (apply indistinguishable_is_close; auto; intros; eapply drawn_is_law; eauto).
  specialize (C (0%nat, copied x)). destruct P as (W & W0 & _ & E), P' as (W' & _ & _ & E'). rewrite E, E' in C.
  unfold label_aware in C; simpl in C. rewrite Nat.eqb_refl in C. apply Nat.eqb_neq in S. rewrite S in C.
  assert (0 < numbers (size (copied x)) (heavy_weight (copied x)) (light_weight (copied x)) (nearest x) 0).
  { unfold numbers, selection. replace (below (size (copied x)) 0) with true by (symmetry; apply Nat.ltb_lt; lia).
    destruct (nearest x 0); apply (IZR_lt 0); lia. }
  assert (0 < numbers (size (copied x)) (heavy_weight (copied x)) (light_weight (copied x)) (nearest x) 0 / W) by (apply
    Rdiv_lt_0_compat; lra).
  unfold Rdiv in C at 2. lra.
Qed.

End LabelAware.
