(** * Differential privacy over discrete outcomes

    What it means that two laws can hardly be told apart, and what follows for whatever is computed from a release, for several
    releases together, and for several records of one person. Nothing here depends on a particular mechanism.

    How to read these files: after [Definition] stands what a word means; after [Theorem] or [Lemma] stands a claim; between
    [Proof] and [Qed] stands what convinces the machine, which a reader may skip. [forall] is "for all", [exists] is "there is",
    [->] is "implies", [/\ ] is "and", [T -> R] is the type of functions from T to the real numbers. *)

From Coq Require Import Reals List Lra.
Import ListNotations.
Open Scope R_scope.

(** ** Sums and probabilities *)

(** The sum of p over a list of outcomes. *)
Fixpoint sum {T} (p : T -> R) (outcomes : list T) : R :=
  match outcomes with
  | [] => 0
  | o :: rest => p o + sum p rest
  end.

(** An event is a set S of outcomes. Its finite parts are the lists of different outcomes that all lie in S. *)
Definition part_of {T} (S : T -> Prop) (outcomes : list T) : Prop := NoDup outcomes /\ forall o, In o outcomes -> S o.

(** The probability of *any* event, also an infinite one: the least number v that no finite part of it exceeds. *)
Definition probability {T} (p : T -> R) (S : T -> Prop) (v : R) : Prop :=
  is_lub (fun total => exists outcomes, part_of S outcomes /\ total = sum p outcomes) v.

(** All outcomes together. *)
Definition everything {T} (o : T) : Prop := True.

(** A law gives each outcome a probability; all of them together have probability 1. *)
Definition law {T} (p : T -> R) : Prop := (forall o, 0 <= p o) /\ probability p everything 1.

(** A mechanism draws outcomes in proportion to weights w: p is the law w / W, and W is the total of all weights. *)
Definition drawn_by {T} (w p : T -> R) : Prop :=
  exists W, 0 < W /\ probability w everything W /\ forall o, p o = w o / W.

(** ** What is guaranteed *)

(** (epsilon, delta)-indistinguishability: no event is likelier under p than e^epsilon times as likely as under q, plus delta. *)
Definition indistinguishable {T} (epsilon delta : R) (p q : T -> R) : Prop :=
  forall S u v, probability p S u -> probability q S v -> u <= exp epsilon * v + delta.

(** The same for single outcomes and delta = 0: no outcome's probabilities differ by more than a factor of e^epsilon. *)
Definition close {T} (epsilon : R) (p q : T -> R) : Prop := forall o, p o <= exp epsilon * q o.

(** A mechanism [weights] (of a record, a function of outcomes) is epsilon-private for a relation [neighbours] of records if the
    laws of any two neighbours are epsilon-indistinguishable, with delta = 0 (pure). *)
Definition private {X T} (epsilon : R) (neighbours : X -> X -> Prop) (weights : X -> T -> R) : Prop :=
  forall x x', neighbours x x' -> forall p p', drawn_by (weights x) p -> drawn_by (weights x') p' ->
    indistinguishable epsilon 0 p p'.

(** A mechanism is well defined for a record if its weights are the weights of some law. *)
Definition well_defined {T} (w : T -> R) : Prop := exists p, drawn_by w p /\ law p.

(** ** Sums: what everybody knows *)

Lemma sum_app : forall T (p : T -> R) l l', sum p (l ++ l') = sum p l + sum p l'.
Proof. induction l as [|o l IH]; intros; simpl; [lra | rewrite IH; lra]. Qed.

Lemma sum_ext : forall T (p q : T -> R) l, (forall o, In o l -> p o = q o) -> sum p l = sum q l.
Proof. induction l as [|o l IH]; intros E; simpl; [easy|]. rewrite E, IH; simpl; auto. intros; apply E; simpl; auto. Qed.

Lemma sum_le : forall T (p q : T -> R) l, (forall o, In o l -> p o <= q o) -> sum p l <= sum q l.
Proof.
  induction l as [|o l IH]; intros E; simpl; [lra|].
  assert (p o <= q o) by (apply E; simpl; auto). assert (sum p l <= sum q l) by (apply IH; intros; apply E; simpl; auto). lra.
Qed.

Lemma sum_scale : forall T c (p : T -> R) l, sum (fun o => c * p o) l = c * sum p l.
Proof. induction l as [|o l IH]; simpl; [lra | rewrite IH; lra]. Qed.

Lemma sum_plus : forall T (p q : T -> R) l, sum (fun o => p o + q o) l = sum p l + sum q l.
Proof. induction l as [|o l IH]; simpl; [lra | rewrite IH; lra]. Qed.

Lemma sum_nonneg : forall T (p : T -> R) l, (forall o, In o l -> 0 <= p o) -> 0 <= sum p l.
Proof.
  induction l as [|o l IH]; intros E; simpl; [lra|].
  assert (0 <= p o) by (apply E; simpl; auto). assert (0 <= sum p l) by (apply IH; intros; apply E; simpl; auto). lra.
Qed.

Lemma sum_map : forall S T (f : S -> T) (p : T -> R) l, sum p (map f l) = sum (fun o => p (f o)) l.
Proof. induction l as [|o l IH]; simpl; [easy | now rewrite IH]. Qed.

Lemma sum_flat_map : forall S T (f : S -> list T) (p : T -> R) l, sum p (flat_map f l) = sum (fun o => sum p (f o)) l.
Proof. induction l as [|o l IH]; simpl; [easy | now rewrite sum_app, IH]. Qed.

(** Different outcomes that all stand in another list do not sum to more than that list. *)
Lemma sum_incl : forall T (p : T -> R) l l', (forall o, 0 <= p o) -> NoDup l -> incl l l' -> sum p l <= sum p l'.
Proof.
  induction l as [|o l IH]; intros l' P N I; simpl; [apply sum_nonneg; auto|].
  destruct (in_split o l') as (l1 & l2 & ->); [apply I; simpl; auto|].
  inversion N as [|? ? O N']; subst.
  assert (sum p l <= sum p (l1 ++ l2)).
  { apply IH; auto. intros a A. assert (B : In a (l1 ++ o :: l2)) by (apply I; simpl; auto).
    apply in_app_or in B. apply in_or_app. simpl in B. destruct B as [B|[B|B]]; auto. subst; contradiction. }
  rewrite sum_app in *. simpl. lra.
Qed.

(** ** Probabilities of events *)

Lemma bounded_by_probability : forall T (p : T -> R) S v l, probability p S v -> part_of S l -> sum p l <= v.
Proof. intros T p S v l [B _] P. apply B. now exists l. Qed.

Lemma probability_least : forall T (p : T -> R) S v b,
  probability p S v -> (forall l, part_of S l -> sum p l <= b) -> v <= b.
Proof. intros T p S v b [_ L] H. apply L. intros x (l & P & ->). auto. Qed.

Lemma nothing_is_part : forall T (S : T -> Prop), part_of S [].
Proof. intros; split; [constructor | simpl; tauto]. Qed.

(** A bounded event has a probability (the real numbers are complete). *)
Lemma probability_exists : forall T (p : T -> R) S b, (forall l, part_of S l -> sum p l <= b) -> exists v, probability p S v.
Proof.
  intros T p S b H.
  destruct (completeness (fun total => exists l, part_of S l /\ total = sum p l)) as [v V].
  - exists b. intros x (l & P & ->). auto.
  - exists 0, []. split; [apply nothing_is_part | easy].
  - now exists v.
Qed.

(** Under a law every event has a probability. *)
Theorem every_event_has_a_probability : forall T (p : T -> R) S, law p -> exists v, probability p S v.
Proof.
  intros T p S [_ P]. apply probability_exists with (b := 1). intros l [N _].
  apply (bounded_by_probability _ _ _ _ _ P). split; [easy | now unfold everything].
Qed.

(** The probability of a finite event is the sum over its outcomes. *)
Lemma probability_of_list : forall T (p : T -> R) l, (forall o, 0 <= p o) -> NoDup l ->
  probability p (fun o => In o l) (sum p l).
Proof.
  intros T p l P N. split.
  - intros x (l' & [N' I] & ->). now apply sum_incl.
  - intros b B. apply B. exists l. split; [split|]; auto.
Qed.

(** If no outcome outside a list has weight, all weights together are the sum over the list. *)
Lemma total_of_alphabet : forall T (w : T -> R) alphabet, (forall a b : T, {a = b} + {a <> b}) ->
  (forall o, 0 <= w o) -> NoDup alphabet -> (forall o, ~ In o alphabet -> w o = 0) -> probability w everything (sum w alphabet).
Proof.
  intros T w A D P N Z. split.
  - intros x (l & [L _] & ->).
    assert (E : forall k, sum w k = sum w (filter (fun o => if in_dec D o A then true else false) k)).
    { induction k as [|o k IH]; simpl; [easy|]. destruct (in_dec D o A) as [i|n]; simpl; rewrite IH; [easy|].
      rewrite (Z o n); lra. }
    rewrite E. apply sum_incl; auto; [now apply NoDup_filter|].
    intros o O. apply filter_In in O. destruct O as [_ O]. now destruct (in_dec D o A).
  - intros b B. apply B. exists A. now split; [split|].
Qed.

(** What is drawn in proportion to weights that are not negative is a law. *)
Lemma drawn_is_law : forall T (w p : T -> R), (forall o, 0 <= w o) -> drawn_by w p -> law p.
Proof.
  intros T w p P (W & W0 & [U L] & E).
  assert (S : forall l, sum p l = sum w l / W).
  { intros l. rewrite (sum_ext _ p (fun o => / W * w o)); [rewrite sum_scale; unfold Rdiv; lra | intros; rewrite E;
    unfold Rdiv; lra]. }
  assert (I : 0 < / W) by now apply Rinv_0_lt_compat.
  split; [intros o; rewrite E; apply Rmult_le_pos; [auto | lra] | split].
  - intros x (l & Q & ->). rewrite S. assert (sum w l <= W) by (apply U; now exists l).
    apply Rmult_le_reg_r with W; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
  - intros b B. assert (W <= b * W).
    { apply L. intros x (l & Q & ->). assert (C : sum p l <= b) by (apply B; now exists l). rewrite S in C.
      apply Rmult_le_compat_r with (r := W) in C; [|lra]. unfold Rdiv in C. rewrite Rmult_assoc, Rinv_l in C; lra. }
    apply Rmult_le_reg_r with W; lra.
Qed.

Lemma total_makes_law : forall T (w : T -> R) W, (forall o, 0 <= w o) -> 0 < W -> probability w everything W -> well_defined w.
Proof.
  intros T w W P W0 H. exists (fun o => w o / W).
  assert (D : drawn_by w (fun o => w o / W)) by now exists W. split; [easy | now apply drawn_is_law with w].
Qed.

(** ** Single outcomes decide *)

(** If single outcomes differ by a factor of at most e^epsilon, then so do all events. *)
Theorem close_is_indistinguishable : forall T epsilon (p q : T -> R), close epsilon p q -> indistinguishable epsilon 0 p q.
Proof.
  intros T e p q C S u v U V. rewrite Rplus_0_r. apply (probability_least _ _ _ _ _ U). intros l L.
  apply Rle_trans with (exp e * sum q l).
  - rewrite <- sum_scale. apply sum_le. auto.
  - apply Rmult_le_compat_l; [left; apply exp_pos | now apply bounded_by_probability with S].
Qed.

(** And conversely: so nothing is lost by looking at single outcomes. *)
Theorem indistinguishable_is_close : forall T epsilon (p q : T -> R),
  (forall o, 0 <= p o) -> (forall o, 0 <= q o) -> indistinguishable epsilon 0 p q -> close epsilon p q.
Proof.
  intros T e p q P Q I o.
  assert (H : forall r : T -> R, (forall o, 0 <= r o) -> probability r (fun a => In a [o]) (r o)).
  { intros r N. replace (r o) with (sum r [o]) by (simpl; lra). apply probability_of_list; auto.
    constructor; [simpl; tauto | constructor]. }
  pose proof (I _ _ _ (H p P) (H q Q)). lra.
Qed.

(** A release that does not depend on the record tells nothing: epsilon is 0. ([random]) *)
Theorem same_law_tells_nothing : forall T (p : T -> R), indistinguishable 0 0 p p.
Proof. intros T p. apply close_is_indistinguishable. intros o. rewrite exp_0. lra. Qed.

(** An output that is possible for one record and impossible for another gives them away, whatever epsilon: so with [identity]. *)
Theorem impossible_output_gives_away : forall T epsilon (p q : T -> R) o,
  (forall o, 0 <= p o) -> (forall o, 0 <= q o) -> 0 < p o -> q o = 0 -> ~ indistinguishable epsilon 0 p q.
Proof. intros T e p q o P Q O Z I. pose proof (indistinguishable_is_close _ e p q P Q I o). rewrite Z in *. lra. Qed.

(** The argument behind every mechanism of ours: two records have the same total of weights, and no weight differs by more than a
    factor of e^epsilon. *)
Theorem same_total_and_close_weights : forall T epsilon (w w' p p' : T -> R),
  (forall W, probability w everything W -> probability w' everything W) -> close epsilon w w' ->
  drawn_by w p -> drawn_by w' p' -> indistinguishable epsilon 0 p p'.
Proof.
  intros T e w w' p p' S C (W & W0 & H & E) (W' & _ & H' & E'). apply close_is_indistinguishable. intros o.
  assert (W = W') by (apply (is_lub_u (fun total => exists l, part_of everything l /\ total = sum w' l)); [now apply S | easy]).
  subst W'. rewrite E, E'. unfold Rdiv. rewrite <- Rmult_assoc.
    apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat | apply C].
Qed.

(** A larger epsilon and delta are guaranteed too. *)
Lemma indistinguishable_weaken : forall T e e' d d' (p q : T -> R), (forall o, 0 <= q o) ->
  e <= e' -> d <= d' -> indistinguishable e d p q -> indistinguishable e' d' p q.
Proof.
  intros T e e' d d' p q Q E D I S u v U V. pose proof (I S u v U V).
  assert (0 <= v) by (change 0 with (sum q []); apply (bounded_by_probability _ q S); [easy | apply nothing_is_part]).
  assert (exp e <= exp e') by (destruct E as [E| ->]; [left; now apply exp_increasing | lra]).
  assert (exp e * v <= exp e' * v) by now apply Rmult_le_compat_r. lra.
Qed.

(** ** Post-processing *)

(** Whatever is computed from a release tells no more than the release: an event of f(o) is an event of o. *)
Theorem post_processing : forall T U epsilon delta (p q : T -> R) (f : T -> U) (S : U -> Prop) u v,
  indistinguishable epsilon delta p q ->
  probability p (fun o => S (f o)) u -> probability q (fun o => S (f o)) v -> u <= exp epsilon * v + delta.
Proof. intros. now apply (H (fun o => S (f o))). Qed.

(** ** Composition *)

(** Two releases about the same record: first o, then u, whose mechanism may depend on what o was. *)
Definition then_ {T U} (first : T -> R) (second : T -> U -> R) (ou : T * U) : R := first (fst ou) * second (fst ou) (snd ou).

(** If the first mechanism is e1-close and the second one e2-close, both releases together are (e1 + e2)-close. *)
Theorem composition : forall T U e1 e2 (p1 q1 : T -> R) (p2 q2 : T -> U -> R),
  (forall o, 0 <= p1 o) -> (forall o u, 0 <= p2 o u) ->
  close e1 p1 q1 -> (forall o, close e2 (p2 o) (q2 o)) -> close (e1 + e2) (then_ p1 p2) (then_ q1 q2).
Proof.
  intros T U e1 e2 p1 q1 p2 q2 P1 P2 C1 C2 [o u]. unfold then_; simpl. rewrite exp_plus.
  apply Rle_trans with ((exp e1 * q1 o) * (exp e2 * q2 o u)); [apply Rmult_le_compat; auto; apply C1 || apply C2 | lra].
Qed.

(** Many releases, the i-th at most e_i: together at most the sum of all e_i. [laws] holds e_i and the i-th law under the one and
    under the other record; [together] is the law of the list of all releases. So it is with the blocks of a codebook, and with
    the records of one person. *)
Fixpoint together {T} (laws : list (T -> R)) (releases : list T) : R :=
  match laws, releases with
  | [], [] => 1
  | p :: laws, o :: releases => p o * together laws releases
  | _, _ => 0
  end.

(** The sum of epsilons. *)
Fixpoint total (epsilons : list R) : R := match epsilons with [] => 0 | e :: rest => e + total rest end.

(** All releases together are as close as the sum of all epsilons says. *)
Theorem composition_of_many : forall T (parts : list (R * (T -> R) * (T -> R))),
  (forall e p q, In (e, p, q) parts -> (forall o, 0 <= p o) /\ close e p q) ->
  close (total (map (fun part => fst (fst part)) parts))
    (together (map (fun part => snd (fst part)) parts)) (together (map snd parts)).
Proof.
  induction parts as [|[[e p] q] parts IH]; intros H releases; destruct releases as [|o releases]; simpl; rewrite ?exp_0;
    try lra.
  rewrite exp_plus. destruct (H e p q) as [P C]; [simpl; auto|].
  assert (N : 0 <= together (map (fun part => snd (fst part)) parts) releases).
  { assert (A : forall e p q, In (e, p, q) parts -> forall o : T, 0 <= p o) by (intros; eapply H; simpl; eauto).
    clear - A. revert releases. induction parts as [|[[e p] q] parts IH]; destruct releases; simpl; try lra.
    apply Rmult_le_pos; [eapply A; simpl; eauto | apply IH; intros; eapply A; simpl; eauto]. }
  assert (D := IH (fun e p q I => H e p q (or_intror I)) releases).
  apply Rle_trans with ((exp e * q o) * (exp (total (map (fun part => fst (fst part)) parts)) * together (map snd parts)
    releases)).
  - apply Rmult_le_compat; auto.
  - lra.
Qed.

(** A person with m records, each of them released with the same epsilon: m epsilon. *)
Corollary person_with_m_records : forall T m epsilon (laws laws' : list (T -> R)),
  length laws = m -> length laws' = m -> (forall p, In p laws -> forall o, 0 <= p o) ->
  (forall p q, In (p, q) (combine laws laws') -> close epsilon p q) -> close (INR m * epsilon) (together laws) (together laws').
Proof.
  intros T m e laws laws' L L' P C.
  pose (parts := map (fun pq : (T -> R) * (T -> R) => (e, fst pq, snd pq)) (combine laws laws')).
  assert (A : map (fun part => snd (fst part)) parts = laws /\ map snd parts = laws' /\
              total (map (fun part : R * (T -> R) * (T -> R) => fst (fst part)) parts) = INR m * e).
  { unfold parts. clear P C parts. revert laws laws' L L'.
    induction m as [|m IH]; intros [|p laws] [|q laws'] L L'; try discriminate.
    - simpl. repeat split; lra.
    - injection L as L. injection L' as L'. destruct (IH laws laws' L L') as (A & B & D). simpl combine. simpl map.
      rewrite A, B. repeat split. simpl map in D. simpl total. rewrite D, S_INR. lra. }
  destruct A as (A & B & D). rewrite <- D, <- A, <- B. apply composition_of_many. unfold parts. intros e' p q I.
  apply in_map_iff in I. destruct I as ([p' q'] & E & I). injection E as <- <- <-. split; [|now apply C].
  simpl. apply P. now apply in_combine_l in I.
Qed.

(** Groups: where m steps between neighbours lead from one data set to another, epsilon is m times as large. *)
Theorem group_privacy : forall X T epsilon (neighbours : X -> X -> Prop) (laws : X -> T -> R) (path : nat -> X) m,
  (forall x x', neighbours x x' -> close epsilon (laws x) (laws x')) ->
  (forall i, (i < m)%nat -> neighbours (path i) (path (S i))) -> close (INR m * epsilon) (laws (path 0%nat)) (laws (path m)).
Proof.
  intros X T e near laws path m C. induction m as [|m IH]; intros N o.
  - simpl. rewrite Rmult_0_l, exp_0. lra.
  - rewrite S_INR. replace ((INR m + 1) * e) with (INR m * e + e) by lra. rewrite exp_plus, Rmult_assoc.
    apply Rle_trans with (exp (INR m * e) * laws (path m) o); [apply IH; auto|].
    apply Rmult_le_compat_l; [left; apply exp_pos | apply C, N; auto].
Qed.

(** ** Composition with deltas, and randomised post-processing *)

(** Between p and q not only events but all functions with values in [0, 1] are indistinguishable: the worst one is the event of
    all outcomes that are more than e^epsilon times as likely. *)
Lemma indistinguishable_means : forall T e d (p q g : T -> R) l,
  (forall o, 0 <= p o) -> (forall o, 0 <= q o) -> indistinguishable e d p q -> NoDup l -> (forall o, 0 <= g o <= 1) ->
  sum (fun o => p o * g o) l <= exp e * sum (fun o => q o * g o) l + d.
Proof.
  intros T e d p q g l P Q I N G.
  pose (worst := filter (fun o => if Rle_dec (p o) (exp e * q o) then false else true) l).
  assert (A : sum (fun o => p o * g o) l - exp e * sum (fun o => q o * g o) l <= sum p worst - exp e * sum q worst).
  { unfold worst. clear I N worst. induction l as [|o l IH]; simpl; [lra|].
    destruct (G o) as [G0 G1]. destruct (Rle_dec (p o) (exp e * q o)) as [L|L]; simpl.
    - assert (0 <= g o * (exp e * q o - p o)) by (apply Rmult_le_pos; lra). lra.
    - assert (0 <= (1 - g o) * (p o - exp e * q o)) by (apply Rmult_le_pos; lra). lra. }
  assert (W : NoDup worst) by now apply NoDup_filter.
  pose proof (I _ _ _ (probability_of_list _ p worst P W) (probability_of_list _ q worst Q W)). lra.
Qed.

(** A sum over pairs is a sum over their first halves. *)
Lemma sum_of_pairs : forall T U (D : forall a b : T, {a = b} + {a <> b}) (f : T * U -> R) (pairs : list (T * U)) firsts,
  NoDup firsts -> (forall ou, In ou pairs -> In (fst ou) firsts) ->
  sum f pairs = sum (fun o => sum f (filter (fun ou => if D (fst ou) o then true else false) pairs)) firsts.
Proof.
  induction pairs as [|[o u] pairs IH]; intros firsts N H; simpl.
  - rewrite (sum_ext _ _ (fun _ => 0 * 0)); [rewrite sum_scale; lra | intros; simpl; lra].
  - assert (E : forall fs, NoDup fs -> sum (fun o' => sum f (if D o o' then (o,
    u) :: filter (fun ou => if D (fst ou) o' then true else false) pairs
        else filter (fun ou => if D (fst ou) o' then true else false) pairs)) fs
      = (if in_dec D o fs then f (o, u) else 0) + sum (fun o' => sum f (filter (fun ou => if D (fst ou) o' then true else
        false) pairs)) fs).
    { induction fs as [|a fs IHf]; intros M; simpl; [lra|]. inversion M as [|? ? A M']; subst. rewrite (IHf M').
      destruct (D o a) as [->|n]; simpl.
      - destruct (D a a); [|contradiction]. destruct (in_dec D a fs); [contradiction | lra].
      - destruct (D a o); [congruence|]. destruct (in_dec D o fs); lra. }
    rewrite (sum_ext _ _ (fun o' => sum f (if D o o' then (o,
      u) :: filter (fun ou => if D (fst ou) o' then true else false) pairs
        else filter (fun ou => if D (fst ou) o' then true else false) pairs))) by (intros a _; now destruct (D o a)).
    rewrite (E firsts N), (IH firsts N) by (intros; apply H; simpl; auto).
    destruct (in_dec D o firsts) as [i|n]; [lra | exfalso; apply n, (H (o, u)); simpl; auto].
Qed.

(** Two releases with epsilons and deltas: both are added. The second mechanism may depend on the first release. *)
Theorem composition_with_deltas : forall T U (D : forall a b : T, {a = b} + {a <> b}) e1 e2 d1 d2
    (p1 q1 : T -> R) (p2 q2 : T -> U -> R),
  law p1 -> law q1 -> (forall o, law (p2 o)) -> (forall o, law (q2 o)) -> 0 <= d2 ->
  indistinguishable e1 d1 p1 q1 -> (forall o, indistinguishable e2 d2 (p2 o) (q2 o)) ->
  indistinguishable (e1 + e2) (d1 + d2) (then_ p1 p2) (then_ q1 q2).
Proof.
  intros T U D e1 e2 d1 d2 p1 q1 p2 q2 [P1 T1] [Q1 _] L2 M2 D2 I1 I2 S u v HU HV.
  apply (probability_least _ _ _ _ _ HU). intros pairs [N HS].
  assert (V : sum (then_ q1 q2) pairs <= v) by now apply (bounded_by_probability _ _ _ _ _ HV).
  pose (firsts := nodup D (map fst pairs)). pose (part := fun o => filter (fun ou : T * U => if D (fst ou) o then true
    else false) pairs).
  pose (after := fun o => map snd (part o)).
  assert (F : NoDup firsts) by apply NoDup_nodup.
  assert (J : forall r1 r2, sum (then_ r1 r2) pairs = sum (fun o => r1 o * sum (r2 o) (after o)) firsts).
  { intros r1 r2. rewrite (sum_of_pairs T U D _ pairs firsts F) by (intros; apply nodup_In, in_map; easy).
    apply sum_ext. intros o _. unfold after. rewrite sum_map. rewrite <- sum_scale. apply sum_ext.
    intros [a b] B. apply filter_In in B. destruct B as [_ B]. simpl in B. unfold then_; simpl. now destruct (D a o) as [->|]. }
  assert (A : forall o, NoDup (after o)).
  { intros o. unfold after, part. clear - N. induction pairs as [|[a b] pairs IH]; simpl; [constructor|].
    inversion N as [|? ? H N']; subst. destruct (D a o) as [->|n]; simpl; auto. constructor; auto.
    intros C. apply in_map_iff in C. destruct C as ([a' b'] & <- & C). apply filter_In in C. destruct C as [C E]. simpl in *.
    now destruct (D a' o) as [->|]. }
  assert (B : forall o (r : U -> R), law r -> 0 <= sum r (after o) <= 1).
  { intros o r [R0 R1]. split; [apply sum_nonneg; auto|]. apply (bounded_by_probability _ _ _ _ _ R1).
    split; [auto | now unfold everything]. }
  pose (g := fun o => Rmin 1 (exp e2 * sum (q2 o) (after o))).
  assert (G : forall o, 0 <= g o <= 1).
  { intros o. unfold g. split; [apply Rmin_glb; [lra|] | apply Rmin_l].
    apply Rmult_le_pos; [left; apply exp_pos | apply B, M2]. }
  assert (K : forall o, sum (p2 o) (after o) <= g o + d2).
  { intros o. pose proof (B o (p2 o) (L2 o)). unfold g, Rmin. destruct (Rle_dec 1 (exp e2 * sum (q2 o) (after o))); [lra|].
    destruct (L2 o), (M2 o). apply (I2 o _ _ _ (probability_of_list _ _ _ H0 (A o)) (probability_of_list _ _ _ H2 (A o))). }
  rewrite J in *.
  assert (X1 : sum (fun o => p1 o * sum (p2 o) (after o)) firsts <= sum (fun o => p1 o * g o) firsts + d2).
  { assert (O : sum p1 firsts <= 1) by (apply (bounded_by_probability _ _ _ _ _ T1); split; [auto | now unfold everything]).
    apply Rle_trans with (sum (fun o => p1 o * g o + d2 * p1 o) firsts).
    - apply sum_le. intros o _. replace (p1 o * g o + d2 * p1 o) with (p1 o * (g o + d2)) by lra. apply Rmult_le_compat_l; auto.
    - rewrite sum_plus, sum_scale. assert (d2 * sum p1 firsts <= d2 * 1) by now apply Rmult_le_compat_l. lra. }
  assert (X2 : sum (fun o => q1 o * g o) firsts <= exp e2 * sum (fun o => q1 o * sum (q2 o) (after o)) firsts).
  { rewrite <- sum_scale. apply sum_le. intros o _. unfold g. pose proof (Rmin_r 1 (exp e2 * sum (q2 o) (after o))).
    pose proof (Rmult_le_compat_l (q1 o) _ _ (Q1 o) H). lra. }
  pose proof (indistinguishable_means _ e1 d1 p1 q1 g firsts P1 Q1 I1 F G) as X3.
  assert (X4 : exp e1 * sum (fun o => q1 o * g o) firsts <= exp e1 * (exp e2 * v)).
  { apply Rmult_le_compat_l; [left; apply exp_pos|]. eapply Rle_trans; [apply X2|].
    apply Rmult_le_compat_l; [left; apply exp_pos | easy]. }
  rewrite exp_plus. lra.
Qed.

(** Randomised post-processing: beside the release o there are coins, whose law may depend on o but not on the record. Whatever is
    computed from both ([post_processing]) is as private as o. *)
Corollary randomised_post_processing : forall T C (D : forall a b : T, {a = b} + {a <> b}) e d (p q : T ->
  R) (coins : T -> C -> R),
  law p -> law q -> (forall o, law (coins o)) -> indistinguishable e d p q ->
    indistinguishable e d (then_ p coins) (then_ q coins).
Proof.
  intros T C D e d p q coins P Q L I. replace e with (e + 0) by lra. replace d with (d + 0) by lra.
  apply composition_with_deltas; auto; [lra|]. intros o. apply close_is_indistinguishable. intros c. rewrite exp_0. lra.
Qed.
