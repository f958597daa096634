(** * What is proved of the draws

    The programs are those of Draws.v. *)

From Coq Require Import Reals List Lia ZArith Bool PeanoNat Sorted.
From Adept Require Import Privacy Noise Sampler Shuffling Draws.
Import ListNotations.
Open Scope Z_scope.

(** ** What is drawn *)

Lemma smaller_own : forall own a s, StronglySorted Z.lt (a :: own) -> a < s ->
  Z.of_nat (count (fun b => b <? s) own) <= s - a - 1.
Proof.
  induction own as [|b own IH]; intros a s S L; [simpl; lia|]. inversion S as [|? ? S' F]; subst. inversion F; subst.
  rewrite count_cons. destruct (Z.ltb_spec b s); [specialize (IH b s S' ltac:(lia)); lia|].
  enough (count (fun b0 => b0 <? s) own = 0%nat) by lia. inversion S' as [|? ? _ G]; subst.
  rewrite (count_ext _ _ (fun _ => false)), count_none; auto. intros c C. rewrite Forall_forall in G. specialize (G c C).
  destruct (Z.ltb_spec c s); auto. lia.
Qed.

(** A number that is none of the own ones stands at the place that counts the others before it. *)
Lemma other_reaches : forall own s, StronglySorted Z.lt own -> ~ In s own ->
  other own (s - Z.of_nat (count (fun b => b <? s) own)) = s.
Proof.
  induction own as [|a own IH]; intros s S N; [unfold other; simpl; lia|]. inversion S as [|? ? S' F]; subst.
  rewrite count_cons. unfold other. cbn [fold_left]. fold (other own). specialize (IH s S' ltac:(simpl in N; tauto)).
  unfold other in IH. destruct (Z.ltb_spec a s) as [L|L].
  - pose proof (smaller_own own a s S L) as C.
    destruct (Z.leb_spec a (s - Z.of_nat (1 + count (fun b => b <? s) own))); [|lia].
    replace (s - Z.of_nat (1 + count (fun b => b <? s) own) + 1) with (s - Z.of_nat (count (fun b => b <? s) own)) by lia.
      exact IH.
  - assert (a <> s) by (simpl in N; tauto). assert (Z0 : count (fun b => b <? s) own = 0%nat).
    { rewrite (count_ext _ _ (fun _ => false)), count_none; auto. intros c C. rewrite Forall_forall in F. specialize (F c C).
      destruct (Z.ltb_spec c s); auto. lia. }
    rewrite Z0 in *. cbn [plus Z.of_nat] in *. destruct (Z.leb_spec a (s - 0)); [lia|]. exact IH.
Qed.

(** Is a symbol one of the own ones. *)
Definition mem (s : Z) (own : list Z) : bool := existsb (Z.eqb s) own.

Lemma mem_spec : forall s own, mem s own = true <-> In s own.
Proof.
  intros s own. unfold mem. rewrite existsb_exists. split.
  - intros (a & A & E). apply Z.eqb_eq in E. now subst.
  - intros I. exists s. split; auto. apply Z.eqb_refl.
Qed.

(** The ranks are the symbols in another order: each has one rank, and the ranks below t are those of the own symbols. *)
Lemma ranks_of_symbols : forall size own, StronglySorted Z.lt own -> (forall a, In a own -> 0 <= a < size) ->
  let t := Z.of_nat (length own) in
  (forall r, 0 <= r < size -> 0 <= symbol_at own r < size /\ mem (symbol_at own r) own = (r <? t)) /\
  (forall i j, 0 <= i < size -> 0 <= j < size -> symbol_at own i = symbol_at own j -> i = j) /\
  (forall s, 0 <= s < size -> exists r, 0 <= r < size /\ symbol_at own r = s).
Proof.
  intros size own S I t.
  assert (ND : NoDup own).
  { clear - S. induction S as [|a l S IH F]; constructor; auto. intros J. rewrite Forall_forall in F. specialize (F a J). lia. }
  destruct (other_numbers_are_the_rest size t own S eq_refl) as [O Inj].
  assert (In_own : forall r, 0 <= r < t -> In (nth (Z.to_nat r) own 0) own) by (intros; apply nth_In; lia).
  assert (M : forall r, 0 <= r < size -> mem (symbol_at own r) own = (r <? t) /\ 0 <= symbol_at own r < size).
  { intros r R. unfold symbol_at. fold t. destruct (Z.ltb_spec r t) as [L|L].
    - split; [now apply mem_spec, In_own | now apply I, In_own].
    - rewrite search_finds_the_other_number by auto. destruct (O (r - t) ltac:(lia)) as [B N]. split; auto.
      destruct (mem _ own) eqn:E; auto. exfalso. now apply N, mem_spec. }
  split; [intros r R; destruct (M r R); auto|]. split.
  - intros i j Hi Hj E. destruct (M i Hi) as [Mi _], (M j Hj) as [Mj _]. rewrite E, Mj in Mi. revert E. unfold symbol_at. fold t.
    destruct (Z.ltb_spec i t), (Z.ltb_spec j t); try discriminate; intros E.
    + apply (NoDup_nth own 0) in E; auto; lia.
    + rewrite 2!search_finds_the_other_number in E by auto. apply Inj in E. lia.
  - intros s B. destruct (mem s own) eqn:E.
    + apply mem_spec in E. destruct (In_nth own s 0 E) as (n & N & <-). exists (Z.of_nat n).
      assert (t <= size). { unfold t. assert (T : (length own <= Z.to_nat size)%nat); [|lia].
        rewrite <- (seq_length (Z.to_nat size) 0), <- (map_length Z.of_nat). apply NoDup_incl_length; auto.
        intros a A. specialize (I a A). apply in_map_iff. exists (Z.to_nat a). split; [lia | apply in_seq; lia]. }
      unfold symbol_at. fold t. rewrite Nat2Z.id. destruct (Z.ltb_spec (Z.of_nat n) t); lia.
    + assert (N : ~ In s own) by (intros X; apply mem_spec in X; congruence). pose proof (other_reaches own s S N) as R.
      set (c := Z.of_nat (count _ own)) in *. exists (t + (s - c)).
      assert (C0 : c <= s).
      { destruct own as [|a own']; [unfold c; simpl; lia|]. unfold c. rewrite count_cons. pose proof (I a (or_introl eq_refl)).
        destruct (Z.ltb_spec a s); [pose proof (smaller_own own' a s S ltac:(lia)); lia|].
        inversion S as [|? ? _ F]; subst. rewrite (count_ext _ _ (fun _ => false)), count_none; [lia|]. intros b Hb.
        rewrite Forall_forall in F. specialize (F b Hb). destruct (Z.ltb_spec b s); auto. lia. }
      assert (C1 : t - c <= size - 1 - s).
      { (* those after s lie between s and size *)
        assert (G : forall l, StronglySorted Z.lt l -> ~ In s l -> (forall a, In a l -> a < size) ->
          Z.of_nat (length l) - Z.of_nat (count (fun b => b <? s) l) <= size - 1 - s).
        { clear - B. intros l. intros S N I.
          assert (H : forall l lo, StronglySorted Z.lt l -> (forall a, In a l -> lo < a < size) -> lo < size ->
            Z.of_nat (length l) <= size - 1 - lo).
          { clear. induction l as [|a l IH]; intros lo S I L; [simpl; lia|]. inversion S as [|? ? S' F]; subst. cbn [length].
            specialize (I a (or_introl eq_refl)) as A. rewrite Forall_forall in F. specialize (IH a S').
            assert (Z.of_nat (length l) <= size - 1 - a); [|lia]. apply IH; [|lia]. intros b Hb. split; [auto|].
            apply I. simpl; auto. }
          induction l as [|a l IH]; [simpl; lia|]. inversion S as [|? ? S' F]; subst. rewrite count_cons. cbn [length].
          destruct (Z.ltb_spec a s).
          - assert (Z.of_nat (length l) - Z.of_nat (count (fun b => b <? s) l) <= size - 1 - s); [|lia].
            apply IH; auto; [simpl in N; tauto | intros; apply I; simpl; auto].
          - assert (Z.of_nat (length (a :: l)) <= size - 1 - s); [|cbn [length] in *; lia]. apply H; auto; [|lia].
            intros b [<-|Hb]; [|rewrite Forall_forall in F; specialize (F b Hb)]; (split; [|apply I; simpl; auto]);
              [assert (a <> s) by (simpl in N; tauto); lia | lia]. }
        apply G; auto. intros; apply I; auto. }
      split; [lia|]. unfold symbol_at. fold t. destruct (Z.ltb_spec (t + (s - c)) t); [lia|].
      rewrite search_finds_the_other_number by auto. replace (t + (s - c) - t) with (s - c) by lia. exact R.
Qed.

(** [Selection.draw] draws each symbol from as many tapes as its weight says: A if it is one of the record's own t, otherwise B,
    times a number that is the same for all symbols. *)
Theorem symbols_have_their_weights : forall b d size heavy light own s,
  StronglySorted Z.lt own -> (forall a, In a own -> 0 <= a < size) -> 0 < Z.of_nat (length own) < size -> 0 < light ->
    0 < heavy ->
  let total := Z.of_nat (length own) * heavy + (size - Z.of_nat (length own)) * light in total <= 2 ^ b -> 0 <= s < size ->
  Z.of_nat (count (leads_to (draw_symbol size heavy light own) s) (tapes b d)) =
  (if mem s own then heavy else light) * Z.of_nat (continuations (length (numbers_below (2 ^ b)))
    (count (fun word => negb (word <? total)) (numbers_below (2 ^ b))) d).
Proof.
  intros b d size A B own s S I T HB HA total W R. unfold draw_symbol. rewrite tapes_of_a_value, Nat2Z.inj_mul. f_equal.
  destruct (ranks_of_symbols size own S I) as (M & Inj & Sur). destruct (Sur s R) as (r & Hr & <-).
  apply (words_of_a_symbol Z Z.eqb (symbol_at own) (fun a => mem a own) b _ (size - Z.of_nat (length own)) A B r); auto; try lia.
  - intros i j Hi Hj. rewrite Z.eqb_eq. split; [apply Inj; lia | now intros ->].
  - intros i Hi. apply M. lia.
Qed.

Lemma pair_is_its_index : forall k o l, 0 <= o < k -> pair_of k (o + k * l) = (o, l).
Proof.
  intros k o l O. unfold pair_of. rewrite (Z.mul_comm k), Z.mod_add, Z.div_add, Z.mod_small, Z.div_small by lia. reflexivity.
Qed.

Lemma own_pairs_are_pairs : forall k label own, (forall a, In a own -> 0 <= a < k) -> StronglySorted Z.lt own ->
  StronglySorted Z.lt (own_pairs k label own) /\
  forall o l, 0 <= o < k -> mem (o + k * l) (own_pairs k label own) = mem o own && (l =? label).
Proof.
  intros k label own I S. split.
  - unfold own_pairs. clear I. induction S as [|a l S IH F]; cbn [map]; constructor; auto. rewrite Forall_forall in *.
    intros b Hb. apply in_map_iff in Hb. destruct Hb as (c & <- & C). specialize (F c C). lia.
  - intros o l O. apply eq_true_iff_eq. rewrite andb_true_iff, 2!mem_spec, Z.eqb_eq. unfold own_pairs. rewrite in_map_iff. split.
    + intros (a & E & A). specialize (I a A). assert (l = label) by nia. subst. split; auto. now replace o with a by lia.
    + intros [H ->]. now exists o.
Qed.

(** A pair of an outcome and a label is drawn the same way: A if both are the record's own, otherwise B. *)
Theorem pairs_have_their_weights : forall b d k labels heavy light own label o l,
  StronglySorted Z.lt own -> (forall a, In a own -> 0 <= a < k) -> 0 < Z.of_nat (length own) -> 1 < labels ->
  0 <= label < labels -> 0 < light -> 0 < heavy ->
  let t := Z.of_nat (length own) in let total := t * heavy + (k * labels - t) * light in
  total <= 2 ^ b -> 0 <= o < k -> 0 <= l < labels ->
  Z.of_nat (count (fun tape => match draw_pair k labels heavy light own label tape with
    Some (drawn, _) => (fst drawn =? o) && (snd drawn =? l) | None => false end) (tapes b d)) =
  (if mem o own && (l =? label) then heavy else light) * Z.of_nat (continuations (length (numbers_below (2 ^ b)))
    (count (fun word => negb (word <? total)) (numbers_below (2 ^ b))) d).
Proof.
  intros b d k labels A B own label o l S I T L1 L HB HA t total W O Hl.
  destruct (own_pairs_are_pairs k label own I S) as [S' M]. assert (Len : length (own_pairs k label own) =
    length own) by apply map_length.
  assert (TK : t <= k).
  { unfold t. assert (X : (length own <= Z.to_nat k)%nat); [|lia]. rewrite <- (seq_length (Z.to_nat k) 0),
    <- (map_length Z.of_nat).
    apply NoDup_incl_length.
    - clear - S. induction S as [|a l S IH F]; constructor; auto. intros J. rewrite Forall_forall in F. specialize (F a J). lia.
    - intros a Ha. specialize (I a Ha). apply in_map_iff. exists (Z.to_nat a). split; [lia | apply in_seq; lia]. }
  pose proof (symbols_have_their_weights b d (k * labels) A B (own_pairs k label own) (o + k * l)) as X. rewrite Len,
    M in X by auto.
  fold t in X. cbv zeta in X. unfold total. rewrite <- X; auto; try nia.
  - f_equal. apply count_ext. intros tape _. unfold draw_pair, and_then, leads_to, done.
    destruct (draw_symbol _ A B _ tape) as [[v rest]|]; auto. cbn [fst snd pair_of].
    apply eq_true_iff_eq. rewrite andb_true_iff, !Z.eqb_eq. split.
    + intros [<- <-]. rewrite Z.add_comm. symmetry. rewrite Z.mul_comm at 1. pose proof (Z.div_mod v k). lia.
    + intros ->. pose proof (pair_is_its_index k o l O) as P. unfold pair_of in P. injection P as -> ->. auto.
  - intros a Ha. apply in_map_iff in Ha. destruct Ha as (c & <- & C). specialize (I c C). nia.
Qed.

(** ** Which rows count *)

(** Of each person the first rows count, as many as are allowed, wherever other persons' rows stand. *)
Theorem first_rows_of_a_person : forall V allowed had (rows : list (nat * V)) p,
  filter (fun row => (fst row =? p)%nat) (first_rows allowed had rows) =
  firstn (allowed p - count (Nat.eqb p) had) (filter (fun row => (fst row =? p)%nat) rows).
Proof.
  intros V allowed had rows p. revert had. induction rows as [|[q v] rows IH]; intros had; [now rewrite firstn_nil|].
  cbn [first_rows filter fst]. destruct (Nat.ltb_spec (count (Nat.eqb q) had) (allowed q)) as [L|L]; cbn [filter fst].
  - rewrite IH, count_cons, (Nat.eqb_sym p q). destruct (Nat.eqb_spec q p) as [->|N]; [|reflexivity].
    replace (allowed p - count (Nat.eqb p) had)%nat with (S (allowed p - (1 + count (Nat.eqb p) had))) by lia. reflexivity.
  - rewrite IH. destruct (Nat.eqb_spec q p) as [->|N]; auto.
    replace (allowed p - count (Nat.eqb p) had)%nat with 0%nat by lia. reflexivity.
Qed.

(** Without a person's rows, the rows of all others count as before. *)
Theorem rows_of_others_count_as_before : forall V allowed had (rows : list (nat * V)) p,
  filter (fun row => negb (fst row =? p)%nat) (first_rows allowed had rows) =
  first_rows allowed (filter (fun q => negb (q =? p)%nat) had) (filter (fun row => negb (fst row =? p)%nat) rows).
Proof.
  intros V allowed had rows p. revert had. induction rows as [|[q v] rows IH]; intros had; [reflexivity|].
  cbn [first_rows filter fst]. destruct (Nat.eqb_spec q p) as [->|N]; cbn [negb first_rows].
  - destruct (_ <? _)%nat; cbn [filter fst]; rewrite IH; cbn [filter]; now rewrite ?Nat.eqb_refl.
  - assert (E : count (Nat.eqb q) (filter (fun q => negb (q =? p)%nat) had) = count (Nat.eqb q) had).
    { clear - N. induction had as [|r had IH]; auto. cbn [filter]. rewrite count_cons. destruct (Nat.eqb_spec r p) as [->|M];
      cbn [negb].
      - rewrite IH. destruct (Nat.eqb_spec q p); [contradiction | reflexivity].
      - now rewrite count_cons, IH. }
    rewrite E. destruct (_ <? _)%nat; cbn [filter fst].
    + destruct (Nat.eqb_spec q p); [contradiction|]. cbn [negb]. rewrite IH. cbn [filter].
      destruct (Nat.eqb_spec q p); [contradiction | reflexivity].
    + apply IH.
Qed.

(** So all rows of a person, among those of others in any order, move the program's counts by at most m. *)
Theorem a_person_among_others_moves_m : forall m cells (rows : list (nat * nat)) p, NoDup cells ->
  let votes rows := map snd (first_rows (fun _ => m) [] rows) in
  distance (counts_of cells (votes rows)) (counts_of cells (votes (filter (fun row => negb (fst row =? p)%nat) rows))) <=
    Z.of_nat m.
Proof.
  intros m cells rows p N votes. unfold votes. change (@nil nat) with (filter (fun q => negb (q =? p)%nat) []) at 2.
  rewrite <- rows_of_others_count_as_before. pose proof (first_rows_of_a_person nat (fun _ => m) [] rows p) as F.
  set (l := first_rows _ _ rows) in *. clearbody l.
  set (own := map snd (filter (fun row => (fst row =? p)%nat) l)).
    set (others := map snd (filter (fun row => negb (fst row =? p)%nat) l)).
  assert (E : counts_of cells (map snd l) = counts_of cells ([] ++ own ++ others)).
  { unfold counts_of. apply map_ext. intros c. f_equal. unfold own, others. clear. rewrite app_nil_l, count_occ_app.
    induction l as [|[q v] l IH]; [reflexivity|]. cbn [map filter fst snd]. destruct (q =? p)%nat; cbn [negb map snd count_occ];
      destruct (Nat.eq_dec v c); cbn [map snd count_occ]; lia. }
  rewrite E. change others with ([] ++ [] ++ others) at 2. rewrite own_votes_move.
    destruct (distance_to_none cells own) as [-> _].
  pose proof (counts_sum cells own N). assert (length own <= m)%nat; [|lia].
  unfold own. rewrite map_length, F, firstn_length. lia.
Qed.

(** The choice reads persons alone: whatever the rows say instead, the rows at the same places count. *)
Theorem choice_reads_persons_alone : forall V W (f : V -> W) allowed had (rows : list (nat * V)),
  first_rows allowed had (map (fun row => (fst row, f (snd row))) rows) =
  map (fun row => (fst row, f (snd row))) (first_rows allowed had rows).
Proof.
  intros V W f allowed had rows. revert had. induction rows as [|[q v] rows IH]; intros had; [reflexivity|].
  cbn [first_rows map fst snd]. destruct (_ <? _)%nat; cbn [map fst snd]; now rewrite IH.
Qed.

Lemma one_row_in_its_place : forall V allowed (before : list (nat * V)) person after had, exists before' after',
  (forall x, first_rows allowed had (before ++ (person, x) :: after) = before' ++ (person, x) :: after') \/
  (forall x, first_rows allowed had (before ++ (person, x) :: after) = before' ++ after').
Proof.
  intros V allowed before person after. induction before as [|[q v] before IH]; intros had; cbn [app first_rows].
  - destruct (_ <? _)%nat; [exists [], (first_rows allowed (person :: had) after); left | exists [],
    (first_rows allowed had after); right]; reflexivity.
  - destruct (_ <? _)%nat.
    + destruct (IH (q :: had)) as (b & a & [H|H]); exists ((q, v) :: b), a; [left | right]; intros x; rewrite H; reflexivity.
    + apply IH.
Qed.

(** [over_limit=drop]: rows beyond a person's rest are left out, and each other row gets its own release.
  Let one row say something
    else, and come from the same person: then the files of releases are as close as the releases of one row. *)
Theorem left_out_rows_tell_nothing : forall V O epsilon allowed (law_of : V -> O -> R) before (person : nat) x x' after,
  (0 <= epsilon)%R -> (forall v o, 0 <= law_of v o)%R -> (forall v v', close epsilon (law_of v) (law_of v')) ->
  let release rows := together (map (fun row => law_of (snd row)) (first_rows allowed [] rows)) in
  close epsilon (release (before ++ (person, x) :: after)) (release (before ++ (person, x') :: after)).
Proof.
  intros V O e allowed q before person x x' after E P C release.
  destruct (one_row_in_its_place V allowed before person after []) as (b & a & [H|H]); unfold release; rewrite 2!H.
  - rewrite 2!map_app. cbn [map snd]. apply one_record_of_many; auto. intros r R o. apply in_app_or in R.
    destruct R as [R|[<-|R]]; auto; apply in_map_iff in R; destruct R as (row & <- & _); auto.
  - intros file. set (p := together _). assert (N : (0 <= p file)%R).
    { unfold p. generalize (b ++ a). intros l. revert file. induction l as [|row l IH]; intros [|o file]; cbn [map together];
        try apply Rle_refl; try apply Rle_0_1. apply Rmult_le_pos; auto. }
    rewrite <- (Rmult_1_l (p file)) at 1. apply Rmult_le_compat_r; auto. rewrite <- exp_0. destruct E as [L|<-];
      [|apply Rle_refl].
    left. now apply exp_increasing.
Qed.

(** ** The clip to the grid *)

Lemma inward_shortens : forall l1 units, norm l1 units = 0 \/ norm l1 (map inward units) <= norm l1 units - 1.
Proof.
  assert (G : forall l1 units, 0 <= norm l1 units /\ norm l1 (map inward units) <= norm l1 units /\
    (norm l1 units = 0 \/ norm l1 (map inward units) <= norm l1 units - 1)); [|intros; apply G].
  intros [] units; unfold norm; induction units as [|z units (P & L & D)]; cbn [map l1_norm squares]; try lia;
    unfold inward in *; (destruct (Z.sgn_spec z) as [(H & ->)|[(H & ->)|(H & ->)]]); repeat split; try nia.
Qed.

Lemma shrink_fits_or_moves : forall l1 radius most units, 0 <= radius -> exists moved,
  shrink l1 radius most (measured l1 radius units) = measured l1 radius moved /\ length moved = length units /\
  (norm l1 moved <= radius \/ norm l1 moved + Zpos most <= norm l1 units).
Proof.
  intros l1 radius most units R.
  assert (Step : forall units, radius < norm l1 units -> norm l1 (map inward units) + 1 <= norm l1 units).
  { intros u L. destruct (inward_shortens l1 u); lia. }
  revert units. induction most as [most IH|most IH|]; intros units; cbn [shrink]; unfold measured at 1; cbn [fst snd];
    (destruct (Z.leb_spec (norm l1 units) radius) as [F|F];
      [exists units; unfold measured; destruct (Z.leb_spec (norm l1 units) radius); [auto | lia]|]).
  - change (snd (measured l1 radius units)) with units.
    destruct (IH (map inward units)) as (a & -> & La & A). destruct (IH a) as (c & -> & Lc & C). exists c.
    rewrite map_length in La. specialize (Step units F). repeat split; auto; try congruence. lia.
  - destruct (IH units) as (a & -> & La & A). destruct (IH a) as (c & -> & Lc & C). exists c.
    repeat split; auto; try congruence. lia.
  - exists (map inward units). rewrite map_length. specialize (Step units F). repeat split; auto.
Qed.

(** Whatever the floats were, the latent in grid steps has its n numbers, and a norm of at most the radius. *)
Theorem latents_fit : forall l1 radius numbers, 0 <= radius ->
  norm l1 (to_grid l1 radius numbers) <= radius /\ length (to_grid l1 radius numbers) = length numbers.
Proof.
  intros l1 radius numbers R. unfold to_grid. set (units := map _ numbers). assert (L : length units =
    length numbers) by apply map_length.
  destruct (shrink_fits_or_moves l1 radius (Z.to_pos (norm l1 units - radius)) units R) as (moved & -> & Lm & M).
  unfold measured. cbn [snd]. split; [|congruence]. destruct (Z_le_gt_dec (norm l1 units) radius).
  - destruct M; [auto|]. lia.
  - rewrite Z2Pos.id in M by lia. lia.
Qed.

(** ** Numbers below a bound *)

(** For one number, [below_each] is the program of Sampler.v, whose remainders are equally likely. *)
Theorem one_number_is_a_remainder : forall bits bound tape, 1 < bound -> below_each bits bound 1 tape =
  match draw_remainder bits bound tape with Some (v, rest) => Some ([v], rest) | None => None end.
Proof.
  intros bits bound tape B. unfold below_each. destruct (Z.eqb_spec bound 1); [lia|]. unfold draw_remainder, draw.
  set (least := 2 ^ bits mod bound). unfold and_then at 1. cbn [read_words]. unfold and_then, done.
  destruct tape as [|word rest]; [reflexivity|].
  assert (G : forall rest rounds word, (length rest < length rounds)%nat ->
    match read_again rounds (fun word => word <? least) [word] rest with Some (words,
      rest) => Some (map (fun word => word mod bound) words, rest)
      | None => None end =
    match first_accepted (fun word => least <=? word) (word :: rest) with Some (word, rest) => Some ([word mod bound],
      rest) | None => None end).
  { clear. induction rest as [|next rest IH]; intros [|r rounds] word L; cbn [length] in L; try lia;
      cbn [read_again first_accepted]; rewrite count_cons; cbn [count filter length]; destruct (Z.ltb_spec word least),
        (Z.leb_spec least word); try lia;
      try reflexivity; cbn [plus Nat.add]; unfold and_then, done; cbn [read_words refill]; unfold and_then, done; auto.
    destruct (Z.ltb_spec word least); [|lia]. rewrite IH by lia. reflexivity. }
  specialize (G rest (word :: rest) word ltac:(simpl; lia)). destruct (read_again _ _ _ _) as [[]|],
    (first_accepted _ _) as [[]|];
    congruence.
Qed.

(** ** Several draws from one tape *)

(** Draws one after the other, each given by the words that it accepts and by what they mean. *)
Fixpoint in_turn (draws : list ((Z -> bool) * (Z -> Z))) : reading (list Z) :=
  match draws with
  | [] => done []
  | (accept, value) :: draws => v <- draw accept value ;; values <- in_turn draws ;; done (v :: values)
  end.

(** A tape leads to a list of values. *)
Definition leads_to_all (draws : list ((Z -> bool) * (Z -> Z))) (values : list Z) (tape : list Z) : bool :=
  match in_turn draws tape with Some (found, _) => if list_eq_dec Z.eq_dec found values then true else false | None => false end.

(** The product of the numbers of words that mean each value. *)
Fixpoint words_of_all (b : Z) (draws : list ((Z -> bool) * (Z -> Z))) (values : list Z) : nat :=
  match draws, values with
  | (accept, value) :: draws, v :: values =>
    count (fun word => accept word && (value word =? v)%Z) (numbers_below (2 ^ b)) * words_of_all b draws values
  | _, _ => 1
  end%nat.

(** What is left of d words for each choice of accepted words; the values do not matter. *)
Fixpoint rest_of_all (b : Z) (draws : list ((Z -> bool) * (Z -> Z))) (d : nat) : nat :=
  match draws, d with
  | [], _ => length (numbers_below (2 ^ b)) ^ d
  | _, O => 0
  | (accept, _) :: later, S d =>
    rest_of_all b later d + count (fun word => negb (accept word)) (numbers_below (2 ^ b)) * rest_of_all b draws d
  end%nat.

(** Draws from one tape are independent: the tapes that lead to a list of values are the product of the numbers of words of each
    value, times a number that is the same for all lists. *)
Theorem draws_in_turn_are_independent : forall b d draws values, length draws = length values ->
  count (leads_to_all draws values) (tapes b d) = (words_of_all b draws values * rest_of_all b draws d)%nat.
Proof.
  intros b d. induction d as [|d IH]; intros [|[accept value] draws] [|v values] L; try discriminate.
  - reflexivity.
  - cbn [rest_of_all]. rewrite Nat.mul_0_r. reflexivity.
  - cbn [words_of_all rest_of_all]. rewrite Nat.mul_1_l, <- number_of_tapes, <- count_all. reflexivity.
  - injection L as L. cbn [tapes words_of_all rest_of_all].
    pose proof (IH draws values L) as One. pose proof (IH ((accept, value) :: draws) (v :: values) ltac:(cbn;
      congruence)) as Again.
    cbn [words_of_all] in Again. clear IH. set (R := count (fun word => negb (accept word)) _).
    set (N := count (fun word => accept word && (value word =? v)) _) in *.
    set (W := words_of_all b draws values) in *. set (K := rest_of_all b draws d) in *.
    set (K' := rest_of_all b ((accept, value) :: draws) d) in *.
    replace (N * W * (K + R * K'))%nat with (N * (W * K) + R * (N * W * K'))%nat by ring. rewrite <- One, <- Again.
    unfold N, R. clear N R W K K' One Again. induction (numbers_below (2 ^ b)) as [|w l I]; [reflexivity|].
    cbn [flat_map]. rewrite count_app, I, count_map, 2!count_cons. clear I. destruct (accept w) eqn:A; cbn [negb andb].
    + destruct (value w =? v) eqn:E.
      * apply Z.eqb_eq in E. rewrite (count_ext _ _ (leads_to_all draws values)); [ring|]. intros tape _.
        unfold leads_to_all. cbn [in_turn]. unfold and_then, draw, done. cbn [first_accepted]. rewrite A, E.
        destruct (in_turn draws tape) as [[found rest]|]; auto. destruct (list_eq_dec Z.eq_dec found values) as [->|D];
          destruct (list_eq_dec Z.eq_dec (v :: _) (v :: values)); auto; congruence.
      * apply Z.eqb_neq in E. rewrite (count_ext _ _ (fun _ => false)); [rewrite count_none; ring|]. intros tape _.
        unfold leads_to_all. cbn [in_turn]. unfold and_then, draw, done. cbn [first_accepted]. rewrite A.
        destruct (in_turn draws tape) as [[found rest]|]; auto. destruct (list_eq_dec _ _ _) as [D|D]; auto. congruence.
    + rewrite (count_ext _ _ (leads_to_all ((accept, value) :: draws) (v :: values))); [ring|]. intros tape _.
      unfold leads_to_all. cbn [in_turn]. unfold and_then, draw. cbn [first_accepted]. now rewrite A.
Qed.

(** ** The noise has no end *)

(** Words of 8 bits for nine coins, of which the first r are true: the words of their trials 2,
  and then those of their trials 3. *)
Definition nine_coins (r : nat) : list Z := repeat 0 r ++ repeat 1 (9 - r) ++ repeat 1 r.

Lemma nine_coins_fall : forall r rest, (r <= 9)%nat ->
  decays 8 1 (repeat 1 9) (nine_coins r ++ rest) = Some (repeat true r ++ repeat false (9 - r), rest).
Proof. intros r rest R. do 10 (destruct r as [|r]; [reflexivity|]). lia. Qed.

(** q times nine true coins, and then r true ones and a false one. *)
Fixpoint coins_of (q r : nat) : list Z := match q with O => nine_coins r | S q => nine_coins 9 ++ coins_of q r end.

Lemma wholes_count_coins : forall q r rounds run rest, (r < 9)%nat -> (q < length rounds)%nat ->
  wholes_from rounds 8 1 [] run (coins_of q r ++ rest) = Some ([run + 9 * Z.of_nat q + Z.of_nat r], rest).
Proof.
  induction q as [|q IH]; intros r [|round rounds] run rest R L; cbn [length] in L; try lia; cbn [wholes_from length Nat.leb];
    unfold and_then; change (repeat 1 (plenty (1 - 0))) with (repeat 1 9); cbn [coins_of].
  - rewrite nine_coins_fall by lia.
    assert (E : exists closed last, runs run (repeat true r ++ repeat false (9 - r)) = ((run + Z.of_nat r) :: closed, last)).
    { clear - R. destruct (9 - r)%nat as [|n] eqn:N; [lia|]. change (repeat false (S n)) with (false :: repeat false n).
      clear N R. revert run. induction r as [|r IH]; intros run.
      - cbn [repeat app runs]. destruct (runs 0 (repeat false n)) as [closed last]. exists closed, last. now rewrite Z.add_0_r.
      - cbn [repeat app runs]. destruct (IH (run + 1)) as (closed & last & ->). exists closed, last. do 2 f_equal. lia. }
    destruct E as (closed & last & ->). destruct rounds; cbn [wholes_from app length Nat.leb firstn]; unfold done;
      do 3 f_equal; lia.
  - rewrite <- app_assoc, nine_coins_fall by lia.
    change (runs run (repeat true 9 ++ repeat false (9 - 9))) with ([] : list Z, run + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1).
    cbn [app]. rewrite IH by lia. do 3 f_equal. lia.
Qed.

Lemma coins_are_many : forall q r, (q <= length (coins_of q r))%nat.
Proof. induction q as [|q IH]; intros r; cbn [coins_of]; [lia|]. rewrite app_length. specialize (IH r). cbn. lia. Qed.

(** At the scale 1 some tape gives each number z with |z| below 2^62: no bound on the trials or the successes cuts the noise
  off. *)
Theorem noise_reaches_every_number : forall z, Z.abs z < 2 ^ 62 -> exists tape, noise 8 1 0 1 tape = Some ([z], []).
Proof.
  intros z B. set (v := Z.to_nat (Z.abs z)). set (sign := if z <? 0 then 1 else 0).
  exists (coins_of (v / 9) (v mod 9) ++ [sign]). set (coins := coins_of _ _).
  assert (M : magnitudes 8 1 0 1 (coins ++ [sign]) = Some ([Z.abs z], [sign])).
  { unfold magnitudes, and_then at 1.
    assert (Parts : forall rounds rest, parts_from (0 :: rounds) 8 1 1 [] rest = Some ([0], rest)) by (intros [|? ?] [|? ?];
      reflexivity).
    rewrite Parts. unfold and_then. unfold coins.
    assert (R : (v mod 9 < 9)%nat) by (apply Nat.mod_upper_bound; lia).
    rewrite wholes_count_coins by (auto; cbn [length]; rewrite app_length; pose proof (coins_are_many (v / 9) (v mod 9)); lia).
    unfold done. cbn [combine map fst snd]. do 3 f_equal.
    assert (E : 0 + 9 * Z.of_nat (v / 9) + Z.of_nat (v mod 9) = Z.abs z).
    { pose proof (Nat.div_mod v 9 ltac:(lia)). unfold v in *. lia. }
    rewrite E, Z.min_r by lia. rewrite Z.pow_0_r, Z.div_1_r. lia. }
  unfold noise. cbn [noise_from]. unfold and_then at 1. rewrite M. unfold and_then, sign.
  destruct (Z.ltb_spec z 0) as [N|N].
  - change (below_each 8 2 1 [1]) with (Some ([1], [] : list Z)). cbn [combine map fst snd Z.eqb Pos.eqb andb].
    unfold count. cbn [filter fst snd Z.eqb Pos.eqb andb]. destruct (Z.eqb_spec (Z.abs z) 0); [lia|]. cbn [length].
    destruct (coins ++ [1]); cbn [noise_from]; unfold done; cbn [refill map fst snd Z.eqb Pos.eqb andb];
      (destruct (Z.eqb_spec (Z.abs z) 0); [lia|]); cbn [map fst snd Z.eqb Pos.eqb]; do 3 f_equal; lia.
  - change (below_each 8 2 1 [0]) with (Some ([0], [] : list Z)). unfold count. cbn [combine filter fst snd Z.eqb andb length].
    destruct (coins ++ [0]); cbn [noise_from]; unfold done; cbn [refill map fst snd Z.eqb andb]; do 3 f_equal; lia.
Qed.
