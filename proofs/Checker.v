(** * The checker of certificates

    The arithmetic of [_symbols], [_at_most_e_to], [_laplace] and [_step] in adept/release/statement/verify.py,
      as functions that Coq can run,
    and the proof that what they accept is private. A test runs these functions, extracted to OCaml, beside verify.py. *)

From Coq Require Import Reals List Lra Lia ZArith QArith Qreals Bool PeanoNat.
From Adept Require Import Privacy Symbols Noise Papers Exponential.
Import ListNotations.
Open Scope Z_scope.

(** The most terms of the series that the checker computes. *)
Definition max_terms : Z := 10000.

(** The largest epsilon of a draw: the checker refuses others, whose series would take long. *)
Definition max_budget : Z := 1000.

(** a / b <= e^epsilon, for b > 0: by the sum of the series' first terms, each rounded down. *)
Definition at_most_e_to (epsilon : Q) (a b terms : Z) : bool :=
  (0 <=? Qnum epsilon) && (Qnum epsilon <=? max_budget * Zpos (Qden epsilon))
  && (a * 2 ^ series_bits <=? b * series (Qnum epsilon) (Zpos (Qden epsilon)) (Z.to_nat (Z.min terms max_terms))).

Lemma at_most_e_to_is_sound : forall epsilon a b terms, 0 < b -> at_most_e_to epsilon a b terms = true ->
  (IZR a <= exp (Q2R epsilon) * IZR b)%R.
Proof.
  intros e a b t B H. unfold at_most_e_to in H. apply andb_true_iff in H. destruct H as [P H].
  apply andb_true_iff in P. destruct P as [P _]. apply Z.leb_le in P, H.
  unfold Q2R. eapply comparison_implies_ratio; eauto. reflexivity.
Qed.

(** ** Symbols *)

(** What one symbol stands for: a text, a label, or both. *)
Inductive released := of_text | of_label | of_both.

(** The numbers of a certificate's part, and those of the statement that are compared with them: how many labels there are, and
    the epsilons of text and label by themselves. *)
Record symbols_part := {
  kind : released;
  symbol_count : Z;
  top : Z;
  heavy : Z;
  light : Z;
  bits : Z;
  terms : Z;
  labels : option Z;
  epsilon : Q;
  label_count : Z;
  text_epsilon : Q;
  label_epsilon : Q }.

(** Python's bit_length. *)
Definition bit_length (n : Z) : Z := if n =? 0 then 0 else Z.log2 n + 1.

(** How many labels there are; one if none is released. *)
Definition count_of_labels (c : symbols_part) : Z := match kind c with of_text => 1 | _ => label_count c end.

(** How many outcomes of the text there are; one if none is released. *)
Definition count_of_texts (c : symbols_part) : Z :=
  match kind c with of_label => 1 | _ => symbol_count c / count_of_labels c end.

(** Equality of numbers that may be missing. *)
Definition same_count (given : option Z) (expected : option Z) : bool :=
  match given, expected with Some a, Some b => a =? b | None, None => true | _, _ => false end.

(** The verdict of [_symbols], condition by condition. *)
Definition accepts_symbols (c : symbols_part) : bool :=
  let total := top c * heavy c + (symbol_count c - top c) * light c in
  let labels_ := count_of_labels c in
  let texts := count_of_texts c in
  let both := match kind c with of_both => true | _ => false end in
  (0 <? top c) && (top c <? symbol_count c) && (0 <? light c) && (light c <=? heavy c)
  && match kind c with of_text => true | _ => top c <=? texts end
  && (bits c =? bit_length (total - 1))
  && at_most_e_to (epsilon c) (heavy c) (light c) (terms c)
  && (texts * labels_ =? symbol_count c)
  && same_count (labels c) (if both then Some labels_ else None)
  && (negb both
      || at_most_e_to (text_epsilon c) (heavy c + (labels_ - 1) * light c) (labels_ * light c) (terms c)
         && at_most_e_to (label_epsilon c) (top c * heavy c + (texts - top c) * light c) (texts * light c) (terms c)).

(** What the test splits into. *)
Ltac split_accepted H :=
  repeat match type of H with
  | _ && _ = true => let A := fresh "A" in apply andb_true_iff in H; destruct H as [H A]
  end.

(** If the checker accepts numbers of symbols, then the release with these weights is epsilon-private, for any two records,
    whatever their heavy symbols are, as long as each record has exactly [top] of them. *)
Theorem accepted_symbols_are_private : forall c, accepts_symbols c = true ->
  private (Q2R (epsilon c)) (fun _ _ => True)
    (fun x : described (Z.to_nat (symbol_count c)) (Z.to_nat (top c)) =>
       numbers (Z.to_nat (symbol_count c)) (heavy c) (light c) (own (its x))).
Proof.
  intros c H. unfold accepts_symbols in H. split_accepted H. apply Z.ltb_lt in H, A7, A6. apply Z.leb_le in A5.
  apply descriptions_are_private; [lia|]. now apply at_most_e_to_is_sound with (terms c).
Qed.

(** A word of the stated bits holds the total of all weights, and a word with one bit less does not. *)
Theorem accepted_bits_hold_the_weights : forall c, accepts_symbols c = true ->
  let total := total_weight (Z.to_nat (symbol_count c)) (Z.to_nat (top c)) (heavy c) (light c) in
  2 ^ (bits c - 1) < total <= 2 ^ bits c.
Proof.
  intros c H. unfold accepts_symbols in H. split_accepted H. apply Z.ltb_lt in H, A7, A6. apply Z.leb_le in A5.
    apply Z.eqb_eq in A3.
  unfold total_weight. rewrite 2!Z2Nat.id by lia. set (W := top c * heavy c + _) in *. assert (T : 1 < W) by (unfold W; nia).
  unfold bit_length in A3. destruct (Z.eqb_spec (W - 1) 0); [lia|]. rewrite A3. destruct (Z.log2_spec (W - 1)) as [L U]; [lia|].
  replace (Z.log2 (W - 1) + 1 - 1) with (Z.log2 (W - 1)) by lia.
    change (Z.succ (Z.log2 (W - 1))) with (Z.log2 (W - 1) + 1) in U. lia.
Qed.

(** If it accepts numbers of a text and a label as one symbol, the pair is private, and each half by itself at its own epsilon. *)
Theorem accepted_pairs_are_private : forall c, accepts_symbols c = true -> kind c = of_both -> 0 < label_count c ->
  let k := Z.to_nat (count_of_texts c) in let L := Z.to_nat (label_count c) in let t := Z.to_nat (top c) in
  Z.of_nat (k * L) = symbol_count c /\
  private (Q2R (epsilon c)) (fun _ _ => True) (joint k L t (heavy c) (light c)) /\
  forall (x x' : pair_of k L t) p p', drawn_by (joint k L t (heavy c) (light c) x) p ->
    drawn_by (joint k L t (heavy c) (light c) x') p' ->
    (forall v, (v < k)%nat -> (text_alone L p v <= exp (Q2R (text_epsilon c)) * text_alone L p' v)%R) /\
    (forall l, (l < L)%nat -> (label_alone k p l <= exp (Q2R (label_epsilon c)) * label_alone k p' l)%R).
Proof.
  intros c H B C k L t. unfold accepts_symbols in H. split_accepted H. rewrite B in *. unfold count_of_labels in *.
    rewrite B in *.
  simpl negb in A. simpl orb in A. apply andb_true_iff in A. destruct A as [AT AL].
  apply Z.ltb_lt in H, A7, A6. apply Z.leb_le in A5, A4. apply Z.eqb_eq in A1.
  assert (K : 0 < count_of_texts c) by lia.
  assert (EK : Z.of_nat k = count_of_texts c) by (unfold k; lia). assert (EL : Z.of_nat L = label_count c) by (unfold L; lia).
  assert (ET : Z.of_nat t = top c) by (unfold t; lia).
  split; [rewrite Nat2Z.inj_mul; lia|]. split.
  - apply joint_response_is_private; [lia|]. now apply at_most_e_to_is_sound with (terms c).
  - intros x x' p p' P P'. split; intros v V.
    + apply (text_alone_is_private k L t (heavy c) (light c) _ x x'); auto. rewrite EL.
      apply at_most_e_to_is_sound with (terms c); auto. nia.
    + apply (label_alone_is_private k L t (heavy c) (light c) _ x x'); auto; [unfold k; lia|]. rewrite EK, ET.
      apply at_most_e_to_is_sound with (terms c); auto. nia.
Qed.

(** ** Discrete Laplace noise *)

(** What gets the noise: a latent clipped in l1 or in l2, or the counts of votes. *)
Inductive noisy := clipped_l1 | clipped_l2 | counts.

(** A certificate's part, and the statement's fields beside it. Floats of the statement are whole multiples of 2^-1074. *)
Record laplace_part := {
  what : noisy;
  dim : Z;
  clip_norm : Z;  (* in units of 2^-1074 *)
  persons_replaced : bool;
  votes_per_person : Z;
  sensitivity : Z;
  scale : Q;
  noise_epsilon : Q;
  said_sensitivity : Z;  (* in units of 2^-1074 *)
  said_scale : Z }.  (* in units of 2^-1074 *)

(** The radius of the clip has at least 2^20 steps. *)
Definition grid_bits : Z := 20.

(** The grid's step is 2^(shift - 1074): the clip's radius has 2^20 to 2^21 steps. Counts have steps of one. *)
Definition shift (c : laplace_part) : Z := match what c with counts => 1074 | _ => bit_length (clip_norm c) - 1 - grid_bits end.

(** The largest l1 norm, and the largest sum of squares, in steps of the grid. *)
Definition l1_radius (c : laplace_part) : Z := Z.shiftr (clip_norm c) (shift c).

(** The largest sum of squares, in steps of the grid. *)
Definition l2_radius_squared (c : laplace_part) : Z := Z.shiftr (clip_norm c * clip_norm c) (2 * shift c).

(** The largest l1 distance of two records, or of two files' counts. *)
Definition diameter (c : laplace_part) : Z :=
  match what c with
  | clipped_l1 => 2 * l1_radius c
  | clipped_l2 => 2 * Z.sqrt (dim c * l2_radius_squared c)
  | counts => (if persons_replaced c then 2 else 1) * votes_per_person c
  end.

(** The verdict of [_laplace], condition by condition. *)
Definition accepts_laplace (c : laplace_part) : bool :=
  (0 <=? Qnum (scale c)) && (0 <=? Qnum (noise_epsilon c)) && (0 <=? shift c)
  && match what c with counts => 0 <? votes_per_person c | _ => 0 <? dim c end
  && (sensitivity c =? diameter c)
  && (said_sensitivity c =? sensitivity c * 2 ^ shift c)
  && (said_scale c * Zpos (Qden (scale c)) =? Qnum (scale c) * 2 ^ shift c)
  && (sensitivity c * (Zpos (Qden (scale c)) * Zpos (Qden (noise_epsilon c))) <=? Qnum (scale c) * Qnum (noise_epsilon c)).

Lemma grid_is_fine : forall u s, 0 <= s -> s = bit_length u - 1 - grid_bits -> 2 ^ grid_bits <= Z.shiftr u s /\
  2 ^ grid_bits <= Z.shiftr (u * u) (2 * s).
Proof.
  intros u s S E. unfold bit_length in E. destruct (Z.eqb_spec u 0) as [->|N]; [unfold grid_bits in E; lia|].
  assert (U : 0 < u). { destruct (Z_lt_le_dec 0 u); auto. rewrite Z.log2_nonpos in E by lia. unfold grid_bits in E. lia. }
  destruct (Z.log2_spec u U) as [L _]. replace (Z.log2 u) with (grid_bits + s) in L by lia.
    rewrite Z.pow_add_r in L by (unfold grid_bits; lia).
  assert (P : 0 < 2 ^ s) by (apply Z.pow_pos_nonneg; lia). assert (G : 0 < 2 ^ grid_bits) by reflexivity.
  rewrite 2!Z.shiftr_div_pow2 by lia. split; apply Z.div_le_lower_bound; try (apply Z.pow_pos_nonneg; lia); [nia|].
  replace (2 * s) with (s + s) by lia. rewrite Z.pow_add_r by lia. nia.
Qed.

Lemma accepted_scale : forall c, accepts_laplace c = true ->
  0 <= shift c /\ sensitivity c = diameter c /\ (0 < sensitivity c -> (0 < Q2R (scale c))%R /\
    (IZR (sensitivity c) / Q2R (scale c) <= Q2R (noise_epsilon c))%R).
Proof.
  intros c H. unfold accepts_laplace in H. split_accepted H. apply Z.leb_le in H, A5, A4, A. apply Z.eqb_eq in A2.
  repeat split; auto.
  - apply Rmult_lt_0_compat; [apply (IZR_lt 0) | apply Rinv_0_lt_compat, (IZR_lt 0); reflexivity]. nia.
  - intros. assert (N : 0 < Qnum (scale c)) by nia. unfold Q2R. apply IZR_le in A. rewrite !mult_IZR in A.
    set (d := Zpos (Qden (scale c))) in *. set (e := Zpos (Qden (noise_epsilon c))) in *.
    assert (D : (0 < IZR d)%R) by (apply (IZR_lt 0); reflexivity).
      assert (E : (0 < IZR e)%R) by (apply (IZR_lt 0); reflexivity).
    apply (IZR_lt 0) in N. apply Rmult_le_reg_r with (IZR (Qnum (scale c)) * IZR e)%R; [now apply Rmult_lt_0_compat|].
    replace (IZR (sensitivity c) / (IZR (Qnum (scale c)) * / IZR d) * (IZR (Qnum (scale c)) * IZR e))%R with (IZR
      (sensitivity c) * (IZR d * IZR e))%R by (field; lra).
    replace (IZR (Qnum (noise_epsilon c)) * / IZR e * (IZR (Qnum (scale c)) * IZR e))%R with (IZR (Qnum (scale c)) * IZR
      (Qnum (noise_epsilon c)))%R by (field; lra).
    easy.
Qed.

(** If the checker accepts noise on latents, it is epsilon-private for any two integer vectors within the stated clip. *)
Theorem accepted_noise_is_private : forall c, accepts_laplace c = true -> what c <> counts ->
  let ball := fun x => match what c with clipped_l1 => l1_norm x <= l1_radius c | _ => squares x <= l2_radius_squared c end in
  private (Q2R (noise_epsilon c)) (both_in ball (Z.to_nat (dim c))) (geometric (Q2R (scale c))).
Proof.
  intros c H W ball. destruct (accepted_scale c H) as (S & D & P). unfold accepts_laplace in H. split_accepted H.
  unfold diameter in D. unfold ball, l1_radius, l2_radius_squared in *. unfold shift in S.
  destruct (what c) eqn:E; [| |easy]; apply Z.ltb_lt in A3; unfold shift in *; rewrite E in *;
    destruct (grid_is_fine (clip_norm c) _ S eq_refl) as [G1 G2]; assert (G : 0 < 2 ^ grid_bits) by reflexivity.
  - destruct P as [B L]; [lia|]. apply l1_is_private; auto. now rewrite D in L.
  - destruct P as [B L]; [rewrite D; assert (0 < Z.sqrt (dim c * Z.shiftr (clip_norm c * clip_norm c) (2 * (bit_length
    (clip_norm c) - 1 - grid_bits)))); [apply Z.sqrt_pos; nia | lia]|].
    apply sqrt_n_is_private; auto. rewrite Z2Nat.id by lia. now rewrite D in L.
Qed.

(** If it accepts noise on counts, they are epsilon-private for the stated relation and votes. *)
Theorem accepted_counts_are_private : forall c cells rule, accepts_laplace c = true -> what c = counts ->
  NoDup cells -> at_most (Z.to_nat (votes_per_person c)) rule ->
  private (Q2R (noise_epsilon c)) (if persons_replaced c then replace_one else add_or_remove)
    (fun file => geometric (Q2R (scale c)) (histogram cells rule file)).
Proof.
  intros c cells rule H W N M. destruct (accepted_scale c H) as (S & D & P). unfold accepts_laplace in H. split_accepted H.
  unfold diameter in D. rewrite W in *. apply Z.ltb_lt in A3. destruct (persons_replaced c); destruct P as [B L]; try lia.
  - apply votes_are_private_for_replacing with (Z.to_nat (votes_per_person c)); auto.
    rewrite INR_IZR_INZ, Z2Nat.id, <- mult_IZR by lia. now rewrite D in L.
  - apply votes_are_private with (Z.to_nat (votes_per_person c)); auto. rewrite INR_IZR_INZ, Z2Nat.id by lia.
    now rewrite D, Z.mul_1_l in L.
Qed.
