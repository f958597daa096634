(** * Shuffling: what is certain about releases whose order was forgotten

    The bound of adept/mechanisms/shuffling.py (the privacy blanket) and its computation (Poisson summation) stay on
      paper. Here is
    what the program relies on besides: shuffling never makes a guarantee worse, and the number that is computed from the claim
    lies between a floor and what one record spends alone. *)

From Coq Require Import Reals List Lra Lia ZArith Permutation PeanoNat.
From Adept Require Import Privacy Symbols.
Import ListNotations.
Open Scope R_scope.

(** ** Shuffling never hurts *)

(** A file is the list of all releases; [together laws] is its law. One record is replaced by another: one law of the list
    changes. *)
Theorem one_record_of_many : forall T epsilon (before after : list (T -> R)) p q, 0 <= epsilon ->
  (forall r, In r (before ++ p :: after) -> forall o, 0 <= r o) -> close epsilon p q ->
  close epsilon (together (before ++ p :: after)) (together (before ++ q :: after)).
Proof.
  intros T e before after p q E P C. induction before as [|r before IH]; intros [|o file]; simpl; try lra.
  - rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [|apply C].
    assert (A : forall r, In r after -> forall o, 0 <= r o) by (intros; apply P; simpl; auto). clear - A.
    revert file. induction after as [|r after I]; intros [|o file]; simpl; try lra.
      apply Rmult_le_pos; [apply A; simpl; auto | apply I; intros; apply A; simpl; auto].
  - rewrite <- Rmult_assoc, (Rmult_comm (exp e)), Rmult_assoc.
    apply Rmult_le_compat_l; [apply P; simpl; auto | apply IH; intros; apply P; simpl; auto].
Qed.

(** Whoever sees a file without its order can tell only events that hold for all orders of a file, or for none. *)
Definition without_order {T} (S : list T -> Prop) : Prop := forall file file', Permutation file file' -> S file -> S file'.

(** (epsilon, delta)-indistinguishability for those who see a file without its order. *)
Definition shuffled_indistinguishable {T} (epsilon delta : R) (p q : list T -> R) : Prop :=
  forall S u v, without_order S -> probability p S u -> probability q S v -> u <= exp epsilon * v + delta.

(** So the central epsilon is at most the local one, with delta = 0. *)
Theorem central_epsilon_is_at_most_the_local_one : forall T epsilon (before after : list (T -> R)) p q, 0 <= epsilon ->
  (forall r, In r (before ++ p :: after) -> forall o, 0 <= r o) -> close epsilon p q ->
  shuffled_indistinguishable epsilon 0 (together (before ++ p :: after)) (together (before ++ q :: after)).
Proof. intros T e before after p q E P C S u v _. apply close_is_indistinguishable. now apply one_record_of_many. Qed.

(** ** The floor of the truth *)

(** All files of m releases out of some symbols. *)
Fixpoint files (out_of : list nat) (m : nat) : list (list nat) :=
  match m with
  | O => [[]]
  | S m => flat_map (fun s => map (cons s) (files out_of m)) out_of
  end.

Lemma in_files : forall out_of m file, In file (files out_of m) <-> length file = m /\ incl file out_of.
Proof.
  induction m as [|m IH]; intros file; simpl.
  - split; [intros [<-|[]]; split; [easy | intros a []]|]. intros [L _]. destruct file; [auto | discriminate].
  - rewrite in_flat_map. split.
    + intros (s & S & I). apply in_map_iff in I. destruct I as (rest & <- & R). apply IH in R. destruct R as [L I].
      split; [simpl; auto | intros a [<-|A]; auto].
    + intros [L I]. destruct file as [|s file]; [discriminate|]. exists s. split; [apply I; simpl; auto|].
      apply in_map, IH. split; [simpl in L; lia | intros a A; apply I; simpl; auto].
Qed.

Lemma files_differ : forall out_of m, NoDup out_of -> NoDup (files out_of m).
Proof.
  intros l m N. induction m as [|m IH]; simpl; [constructor; [simpl; tauto | constructor]|].
  set (f := files l m) in *. clearbody f. induction l as [|s l I]; simpl; [constructor|]. inversion N as [|? ? S N']; subst.
  assert (A : forall l1 l2 : list (list nat), NoDup l1 -> NoDup l2 -> (forall a, In a l1 -> ~ In a l2) -> NoDup (l1 ++ l2)).
  { induction l1 as [|a l1 I1]; simpl; auto. intros l2 N1 N2 F. inversion N1; subst. constructor.
    - intros J. apply in_app_or in J. destruct J; [contradiction | eapply F; eauto].
    - apply I1; firstorder. }
  apply A; auto.
  - clear - IH. induction f as [|a f I]; simpl; constructor; inversion IH; subst; auto.
    intros J. apply in_map_iff in J. destruct J as (b & E & B). injection E as ->. contradiction.
  - intros a J K. apply in_map_iff in J. destruct J as (b & <- & _). apply in_flat_map in K. destruct K as (c & C & K).
    apply in_map_iff in K. destruct K as (d & E & _). injection E as <- _. contradiction.
Qed.

Lemma sum_over_files : forall out_of (laws : list (nat -> R)),
  sum (together laws) (files out_of (length laws)) = fold_right (fun p product => sum p out_of * product) 1 laws.
Proof.
  intros l laws. induction laws as [|p laws IH]; simpl; [lra|]. rewrite sum_flat_map, <- IH.
  rewrite (sum_ext _ _ (fun s => sum (together laws) (files l (length laws)) * p s)); [rewrite sum_scale; ring|].
  intros s _. rewrite sum_map. simpl. rewrite sum_scale. ring.
Qed.

(** n + 1 people release by subset selection, all of them x, or one of them x' instead. Let [own] be symbols that are heavy for x
    and not for x'. Whatever bound of the form (c, delta) holds for the shuffled file, delta is at least (t' / W) (A - e^c B) (t'
    A / W)^n, with t' = the number of symbols in [own]. *)
Theorem floor_of_delta : forall k t A B heavy heavy' p p' own n c delta, (0 < B <= A)%Z ->
  heavy_set (symbols k) t heavy -> heavy_set (symbols k) t heavy' ->
  drawn_by (numbers k A B heavy) p -> drawn_by (numbers k A B heavy') p' ->
  NoDup own -> (forall s, In s own -> (s < k)%nat /\ heavy s = true /\ heavy' s = false) ->
  shuffled_indistinguishable c delta (together (p :: repeat p n)) (together (p' :: repeat p n)) ->
  let t' := INR (length own) in let W := IZR (total_weight k t A B) in
  t' / W * (IZR A - exp c * IZR B) * (t' * IZR A / W) ^ n <= delta.
Proof.
  intros k t A B h h' p p' own n c d HB H H' P P' N O I t' W.
  assert (Pos : forall g r, drawn_by (numbers k A B g) r -> forall o, 0 <= r o).
  { intros g r D o. apply drawn_is_law in D; [apply D|]. intros s. apply selection_nonneg; lia. }
  assert (V : forall g r a, heavy_set (symbols k) t g -> drawn_by (numbers k A B g) r -> (forall s, In s own ->
    (if g s then IZR A else IZR B) = a) ->
      sum r own = t' * a / W).
  { intros g r a G D E. rewrite (sum_ext _ r (fun _ => a / W * 1)).
    - rewrite sum_scale. assert (sum (fun _ => 1) own = t') as ->; [|unfold Rdiv; ring].
      unfold t'. clear. induction own as [|s l IH]; [reflexivity|]. cbn [sum length]. rewrite S_INR, IH. ring.
    - intros s S. rewrite (probability_of_a_symbol nat Nat.eq_dec (symbols k) (below k) (seq_NoDup k 0) (below_spec k) t A
      B g r s); auto; try lia.
      + unfold symbols. rewrite seq_length, E by auto. unfold W, Rdiv. ring.
      + apply in_seq. destruct (O s S). lia. }
  assert (V1 : sum p own = t' * IZR A / W) by (apply V with h; auto; intros s S; destruct (O s S) as (_ & -> & _); auto).
  assert (V2 : sum p' own = t' * IZR B / W) by (apply V with h'; auto; intros s S; destruct (O s S) as (_ & _ & ->); auto).
  assert (L : forall r : nat -> R, length (r :: repeat p n) = S n) by (intros; simpl; now rewrite repeat_length).
  assert (F : forall r, fold_right (fun p product => sum p own * product) 1 (r :: repeat p n) = sum r own * (t' * IZR A /
    W) ^ n).
  { intros r. simpl. f_equal. clear - V1. induction n as [|n IH]; simpl; auto. now rewrite IH, V1. }
  assert (Q : forall g r, drawn_by (numbers k A B g) r ->
      probability (together (r :: repeat p n)) (fun file => In file (files own (S n))) (sum r own * (t' * IZR A / W) ^ n)).
  { intros g r D. rewrite <- F, <- sum_over_files, L. apply probability_of_list; [|now apply files_differ].
    assert (G : forall laws : list (nat -> R), (forall q, In q laws -> forall o, 0 <= q o) ->
      forall file, 0 <= together laws file).
    { induction laws as [|q laws IH]; intros Z [|o file]; simpl; try lra.
      apply Rmult_le_pos; [apply Z; simpl; auto | apply IH; intros; apply Z; simpl; auto]. }
    apply G. intros q [<-|Z]; [eauto|]. apply repeat_spec in Z. subst. eauto. }
  assert (X := I _ _ _ (fun file file' perm inside => proj2 (in_files own (S n) file')
    (conj (eq_trans (Permutation_length (Permutation_sym perm)) (proj1 (proj1 (in_files own (S n) file) inside)))
          (fun a i => proj2 (proj1 (in_files own (S n) file) inside) a (Permutation_in a (Permutation_sym perm) i)))) (Q h
            p P) (Q h' p' P')).
  rewrite V1, V2 in X. unfold Rdiv in *. lra.
Qed.

(** ** The claim's formula: between its floor and what one record spends alone *)

(** E[(s + X_1 + .. + X_n)+] for independent numbers X_i with finitely many (chance, value). *)
Fixpoint mean_positive (cells : list (R * R)) (n : nat) (s : R) : R :=
  match n with
  | O => Rmax s 0
  | S n => sum (fun cell => fst cell * mean_positive cells n (s + snd cell)) cells
  end.

(** The blanket's cells: t' own symbols of each record, o shared ones, the other symbols, and no blanket; e is e^c. *)
Definition blanket (k t' o W A e : R) : list (R * R) :=
  [(t' / W, A - e); (t' / W, 1 - e * A); (o / W, A * (1 - e)); ((k - 2 * t' - o) / W, 1 - e); (1 - k / W, 0)].

(** Chances are not negative and sum to one. *)
Definition chances (cells : list (R * R)) : Prop := (forall cell, In cell cells -> 0 <= fst cell) /\ sum fst cells = 1.

Lemma mean_positive_grows : forall cells n s, chances cells ->
  mean_positive cells n s <= Rmax s 0 + INR n * mean_positive cells 1 0.
Proof.
  intros cells n s [P T]. revert s. induction n as [|n IH]; intros s; [simpl; lra|]. rewrite S_INR. cbn [mean_positive] in *.
  apply Rle_trans with (sum (fun cell => fst cell * (Rmax s 0 + INR n * sum (fun c => fst c * Rmax (0 + snd c) 0) cells) +
    fst cell * Rmax (0 + snd cell) 0) cells).
  - apply sum_le. intros cell C. rewrite <- Rmult_plus_distr_l. apply Rmult_le_compat_l; [now apply P|].
    eapply Rle_trans; [apply IH|].
    assert (Rmax (s + snd cell) 0 <= Rmax s 0 + Rmax (0 + snd cell) 0); [|lra]. unfold Rmax. repeat destruct Rle_dec; lra.
  - rewrite sum_plus. rewrite (sum_ext _ _ (fun cell => (Rmax s 0 + INR n * sum (fun c => fst c * Rmax (0 + snd c) 0)
    cells) * fst cell)) by (intros; ring).
    rewrite sum_scale, T. lra.
Qed.

(** The claim delta = E[(X_1 + .. + X_n)+] / n is never above that of one record alone, E[X+]. *)
Theorem claim_is_at_most_alone : forall cells n, chances cells -> (0 < n)%nat ->
  mean_positive cells n 0 / INR n <= mean_positive cells 1 0.
Proof.
  intros cells n C N. pose proof (mean_positive_grows cells n 0 C) as G. rewrite Rmax_left in G by lra.
    assert (0 < INR n) by now apply lt_0_INR.
  apply Rmult_le_reg_r with (INR n); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** From the local epsilon on (e >= A >= 1) the claim is delta = 0: the central epsilon that it yields never exceeds the local
    one. *)
Theorem claim_is_zero_from_the_local_epsilon_on : forall k t' o W A e n, chances (blanket k t' o W A e) -> (0 < n)%nat ->
  1 <= A -> A <= e ->
  mean_positive (blanket k t' o W A e) n 0 / INR n <= 0.
Proof.
  intros k t' o W A e n C N A1 Ae. eapply Rle_trans; [now apply claim_is_at_most_alone|]. assert (1 <= e * A) by nra.
    assert (A * (1 - e) <= 0) by nra.
  unfold blanket; simpl. rewrite !Rmax_right by lra. lra.
Qed.

(** The floor of the claim: p (A - e) (p + 1 - g)^(n-1), with p = t' / W and g = k / W, from the files where each other record
    is no blanket, or one that releases a symbol which is heavy for x alone. *)
Theorem floor_of_the_claim : forall k t' o W A e n, chances (blanket k t' o W A e) -> e <= A -> (0 < n)%nat ->
  t' / W * (A - e) * (t' / W + (1 - k / W)) ^ (n - 1) <= mean_positive (blanket k t' o W A e) n 0 / INR n.
Proof.
  intros k t' o W A e n [P T] E N. set (cells := blanket k t' o W A e) in *. set (p := t' / W). set (z := 1 - k / W).
    set (a := A - e).
  assert (Pp : 0 <= p) by (apply (P (p, a)); simpl; auto). assert (Pz : 0 <= z) by (apply (P (z, 0)); simpl; tauto).
  assert (G : forall m s, 0 <= mean_positive cells m s).
  { induction m as [|m IH]; intros s; cbn [mean_positive]; [apply Rmax_r|]. apply sum_nonneg. intros cell C.
    apply Rmult_le_pos; auto. }
  assert (Step : forall m s, p * mean_positive cells m (s + a) + z * mean_positive cells m s <= mean_positive cells (S m) s).
  { assert (Each : forall f : R * R -> R, sum f cells =
      f (p, a) + (f (p, 1 - e * A) + (f (o / W, A * (1 - e)) + (f ((k - 2 * t' - o) / W, 1 - e) + (f (z,
        0) + 0))))) by reflexivity.
    intros m s. cbn [mean_positive]. rewrite Each. cbn [fst snd]. rewrite (Rplus_0_r s).
    assert (0 <= p * mean_positive cells m (s + (1 - e * A))) by now apply Rmult_le_pos.
    assert (0 <= o / W * mean_positive cells m (s + A * (1 - e))) by (apply Rmult_le_pos; auto;
      apply (P (o / W, A * (1 - e))); simpl; auto).
    assert (0 <= (k - 2 * t' - o) / W * mean_positive cells m (s + (1 - e))) by (apply Rmult_le_pos; auto;
      apply (P ((k - 2 * t' - o) / W, 1 - e)); simpl; auto). lra. }
  set (q := p + z). assert (a0 : 0 <= a) by (unfold a; lra).
  assert (L : forall m s, s * q ^ S m + INR m * (p * a * q ^ m) <= q * mean_positive cells m s).
  { induction m as [|m IH]; intros s.
    - simpl. pose proof (Rmax_l s 0). assert (q * s <= q * Rmax s 0) by (apply Rmult_le_compat_l; unfold q in *; lra). lra.
    - rewrite S_INR. pose proof (Rmult_le_compat_l q _ _ ltac:(unfold q; lra) (Step m s)).
      pose proof (Rmult_le_compat_l p _ _ Pp (IH (s + a))). pose proof (Rmult_le_compat_l z _ _ Pz (IH s)).
      replace (s * q ^ S (S m) + (INR m + 1) * (p * a * q ^ S m)) with
        (p * ((s + a) * q ^ S m + INR m * (p * a * q ^ m)) + z * (s * q ^ S m + INR m * (p * a * q ^ m)))
        by (cbn [pow]; unfold q; ring). lra. }
  specialize (L n 0). rewrite Rmult_0_l, Rplus_0_l in L. assert (0 < INR n) by now apply lt_0_INR.
  apply Rmult_le_reg_r with (INR n); auto. unfold Rdiv at 1. rewrite (Rmult_assoc _ (/ INR n)), Rinv_l by lra.
  destruct n as [|m]; [lia|]. replace (S m - 1)%nat with m by lia. fold q. destruct (Rle_lt_or_eq_dec 0 q ltac:(unfold q;
    lra)) as [Q|Q].
  - apply Rmult_le_reg_l with q; auto. cbn [pow] in L. lra.
  - assert (p = 0) as -> by (unfold q in *; lra). specialize (G (S m) 0). lra.
Qed.

(** So the claim is never below the floor of the truth, t' / W (A - e) (t' A / W)^(n-1): it is not refuted by the files of
    [floor_of_delta]. *)
Theorem claim_is_above_the_floor_of_delta : forall k t' o W A e n, chances (blanket k t' o W A e) -> e <= A -> (0 < n)%nat ->
  1 <= A -> 0 <= o -> 0 <= t' -> 0 < W -> W = (t' + o) * A + (k - t' - o) ->
  t' / W * (A - e) * (t' * A / W) ^ (n - 1) <= mean_positive (blanket k t' o W A e) n 0 / INR n.
Proof.
  intros k t' o W A e n C E N A1 O T W0 HW. eapply Rle_trans; [|now apply floor_of_the_claim].
  assert (I : 0 < / W) by now apply Rinv_0_lt_compat. apply Rmult_le_compat_l.
  - apply Rmult_le_pos; [apply Rmult_le_pos; lra | lra].
  - apply pow_incr. split; [apply Rmult_le_pos; [apply Rmult_le_pos; lra | lra]|].
    replace (t' / W + (1 - k / W)) with ((t' + W - k) / W) by (field; lra). unfold Rdiv. apply Rmult_le_compat_r; [lra|]. nra.
Qed.
