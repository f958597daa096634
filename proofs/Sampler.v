(** * The sampler: words from a tape, with rejection

    [below], [below_each] and [exact_ranks] of random_draws.py.
      A tape is a list of words that the operating system delivers, each
    of 2^b equally likely ones. All tapes of d words are equally likely too; so a number of tapes, divided by 2^(b d), is a
    probability. The theorems count tapes. *)

From Coq Require Import List Lia ZArith Bool PeanoNat Arith Sorted.
Import ListNotations.

(** ** The programs *)

(** Read words until one is accepted; return it with the rest of the tape, or nothing where the tape ends before. *)
Fixpoint first_accepted (accept : Z -> bool) (tape : list Z) : option (Z * list Z) :=
  match tape with
  | [] => None
  | word :: rest => if accept word then Some (word, rest) else first_accepted accept rest
  end.

(** Read words until one is accepted; return what it means, with the rest of the tape. *)
Definition draw (accept : Z -> bool) (value : Z -> Z) (tape : list Z) : option (Z * list Z) :=
  match first_accepted accept tape with
  | Some (word, rest) => Some (value word, rest)
  | None => None
  end.

Open Scope Z_scope.

(** [entropy.below]: the first word below the bound. *)
Definition draw_below (bound : Z) : list Z -> option (Z * list Z) := draw (fun word => word <? bound) (fun word => word).

(** [entropy.below_each], for one number: the first word from 2^b mod bound on, and its remainder. *)
Definition draw_remainder (bits bound : Z) : list Z -> option (Z * list Z) :=
  draw (fun word => 2 ^ bits mod bound <=? word) (fun word => word mod bound).

(** [random_draws.exact_ranks]: a number below W means a rank; the first [near] ranks have A numbers each, the others B. *)
Definition rank_of (near heavy light number : Z) : Z :=
  if number <? near * heavy then number / heavy else near + (number - near * heavy) / light.

(** A rank: the first word below W, the total of all weights, says which one. *)
Definition draw_rank (near far heavy light : Z) : list Z -> option (Z * list Z) :=
  let total := near * heavy + far * light in draw (fun word => word <? total) (rank_of near heavy light).

(** ** Counting *)

(** The numbers 0 .. n - 1. *)
Definition numbers_below (n : Z) : list Z := map Z.of_nat (seq 0 (Z.to_nat n)).

(** How many of them a test accepts. *)
Definition count {T} (test : T -> bool) (l : list T) : nat := length (filter test l).

(** All tapes of d words of b bits. *)
Fixpoint tapes (b : Z) (d : nat) : list (list Z) :=
  match d with
  | O => [[]]
  | S d => flat_map (fun word => map (cons word) (tapes b d)) (numbers_below (2 ^ b))
  end.

(** A tape leads to v if what is drawn from it is v. *)
Definition leads_to (program : list Z -> option (Z * list Z)) (v : Z) (tape : list Z) : bool :=
  match program tape with Some (w, _) => w =? v | None => false end.

(** Tapes of d words for each accepted word: a sum over the place at which it stands. *)
Fixpoint continuations (words rejected : nat) (d : nat) : nat :=
  match d with
  | O => 0
  | S d => words ^ d + rejected * continuations words rejected d
  end%nat.

Lemma count_app : forall T (f : T -> bool) l l', count f (l ++ l') = (count f l + count f l')%nat.
Proof. intros. unfold count. now rewrite filter_app, app_length. Qed.

Lemma count_cons : forall T (f : T -> bool) a l, count f (a :: l) = ((if f a then 1 else 0) + count f l)%nat.
Proof. intros. unfold count; cbn [filter]. now destruct (f a). Qed.

Lemma count_map : forall S T (g : S -> T) f l, count f (map g l) = count (fun a => f (g a)) l.
Proof. unfold count. induction l as [|a l IH]; simpl; auto. destruct (f (g a)); simpl; auto. Qed.

Lemma count_ext : forall T (f g : T -> bool) l, (forall a, In a l -> f a = g a) -> count f l = count g l.
Proof. intros. unfold count. f_equal. now apply filter_ext_in. Qed.

Lemma count_all : forall T (l : list T), count (fun _ => true) l = length l.
Proof. unfold count. induction l; simpl; auto. Qed.

Lemma count_none : forall T (l : list T), count (fun _ => false) l = 0%nat.
Proof. unfold count. induction l; simpl; auto. Qed.

Lemma number_of_tapes : forall b d, length (tapes b d) = (length (numbers_below (2 ^ b)) ^ d)%nat.
Proof.
  intros b d. induction d as [|d IH]; simpl; auto. rewrite <- IH. clear IH.
  induction (numbers_below (2 ^ b)) as [|w l I]; simpl; auto. rewrite app_length, map_length, I. reflexivity.
Qed.

(** The counting lemma: the tapes that lead to v are as many as the accepted words that mean v, times a number that is the same
    for every v. *)
Theorem tapes_of_a_value : forall b d accept value v,
  count (leads_to (draw accept value) v) (tapes b d) =
  (count (fun word => accept word && (value word =? v)%Z) (numbers_below (2 ^ b))
   * continuations (length (numbers_below (2 ^ b))) (count (fun word => negb (accept word)) (numbers_below (2 ^ b))) d)%nat.
Proof.
  intros b d accept value v. induction d as [|d IH]; [simpl; now rewrite Nat.mul_0_r|]. cbn [tapes continuations].
  rewrite <- number_of_tapes. revert IH. generalize (continuations (length (numbers_below (2 ^ b))) (count (fun word =>
    negb (accept word)) (numbers_below (2 ^ b))) d).
  intros N IH. rewrite Nat.mul_add_distr_l, Nat.mul_assoc,
    (Nat.mul_comm (count _ _) (count (fun word => negb (accept word)) _)), <- Nat.mul_assoc, <- IH.
  clear IH N. induction (numbers_below (2 ^ b)) as [|w l I]; [reflexivity|].
  cbn [flat_map]. rewrite count_app, I, count_map, 2!count_cons. clear I.
  destruct (accept w) eqn:A; cbn [negb andb].
  - rewrite (count_ext _ _ (fun _ => (value w =? v)%Z)) by (intros; unfold leads_to, draw; cbn [first_accepted]; now rewrite A).
    destruct (value w =? v)%Z; [rewrite count_all | rewrite count_none]; ring.
  - rewrite (count_ext _ _ (leads_to (draw accept value) v)) by (intros; unfold leads_to, draw; cbn [first_accepted];
    now rewrite A). ring.
Qed.

(** Some tape ends: the number of continuations is positive where there is a word. *)
Theorem some_tapes_end : forall words rejected d, (0 < words)%nat -> (0 < d)%nat ->
  (0 < continuations words rejected d)%nat.
Proof. intros words rejected [|d] W D; [lia|]. cbn [continuations].
  assert (words ^ d <> 0)%nat by (apply Nat.pow_nonzero; lia). lia. Qed.

(** The numbers of an interval [lo, hi). *)
Lemma count_interval : forall n lo hi, (0 <= lo <= hi)%Z -> (hi <= n)%Z ->
  Z.of_nat (count (fun i => (lo <=? i) && (i <? hi))%Z (numbers_below n)) = (hi - lo)%Z.
Proof.
  intros n lo hi L H. unfold numbers_below. rewrite count_map.
  assert (G : forall m, Z.of_nat (count (fun i => (lo <=? Z.of_nat i) && (Z.of_nat i <? hi))%Z (seq 0 m)) = (Z.min hi
    (Z.max lo (Z.of_nat m)) - lo)%Z).
  { induction m as [|m IH]; [simpl; lia|]. rewrite seq_S, count_app, Nat2Z.inj_add, IH. unfold count; cbn [filter plus].
    destruct (Z.leb_spec lo (Z.of_nat m)), (Z.ltb_spec (Z.of_nat m) hi); cbn [andb length]; lia. }
  rewrite G. lia.
Qed.

Lemma seq_moved : forall k s m, seq (k + s) m = map (Nat.add k) (seq s m).
Proof. intros k s m. revert s. induction m as [|m IH]; intros s; simpl; auto. f_equal. now rewrite <- IH, Nat.add_succ_r. Qed.

Lemma in_numbers_below : forall n i, In i (numbers_below n) <-> 0 <= i < n.
Proof.
  intros n i. unfold numbers_below. rewrite in_map_iff. split.
  - intros (j & <- & J). apply in_seq in J. lia.
  - intros H. exists (Z.to_nat i). split; [lia | apply in_seq; lia].
Qed.

(** ** What the programs draw *)

(** Each number below the bound comes from one word. *)
Lemma words_of_a_number : forall b bound v, 0 < bound <= 2 ^ b -> 0 <= v < bound ->
  count (fun word => (word <? bound) && (word =? v)) (numbers_below (2 ^ b)) = 1%nat.
Proof.
  intros b m v M V. apply Nat2Z.inj. rewrite (count_ext _ _ (fun i => (v <=? i) && (i <? v + 1))).
  - rewrite count_interval; lia.
  - intros i _. destruct (Z.ltb_spec i m), (Z.eqb_spec i v), (Z.leb_spec v i), (Z.ltb_spec i (v + 1)); simpl; auto; lia.
Qed.

(** Each remainder comes from 2^b / bound words, rounded down. *)
Lemma words_of_a_remainder : forall b bound v, 0 <= b -> 0 < bound <= 2 ^ b -> 0 <= v < bound ->
  Z.of_nat (count (fun word => (2 ^ b mod bound <=? word) && (word mod bound =? v)) (numbers_below (2 ^ b))) = 2 ^ b / bound.
Proof.
  intros b m v HB M V. set (r := 2 ^ b mod m). assert (R : 0 <= r < m) by (apply Z.mod_pos_bound; lia).
  assert (G : forall q : nat, Z.of_nat (count (fun w => (r <=? w) && (w mod m =? v)) (numbers_below (m * Z.of_nat q + r)))
    = Z.of_nat q).
  { induction q as [|q IH].
    - rewrite (count_ext _ _ (fun _ => false)); [rewrite count_none; lia|].
      intros i I. apply in_numbers_below in I. destruct (Z.leb_spec r i); auto. lia.
    - assert (E : numbers_below (m * Z.of_nat (S q) + r) = numbers_below (m * Z.of_nat q + r) ++ map (fun j => m *
      Z.of_nat q + r + j) (numbers_below m)).
      { unfold numbers_below. replace (Z.to_nat (m * Z.of_nat (S q) + r)) with (Z.to_nat (m * Z.of_nat q + r) + Z.to_nat
        m)%nat by lia.
        rewrite seq_app, map_app, map_map. f_equal. rewrite <- (map_map Z.of_nat (fun j => m * Z.of_nat q + r + j)).
        rewrite plus_O_n. set (k := Z.to_nat (m * Z.of_nat q + r)). rewrite <- (Nat.add_0_r k) at 1. rewrite seq_moved.
          rewrite 2!map_map.
        apply map_ext. intros j. unfold k. lia. }
      rewrite E, count_app, Nat2Z.inj_add, IH, count_map.
        rewrite (count_ext _ _ (fun j => ((v - r) mod m <=? j) && (j <? (v - r) mod m + 1))).
      + pose proof (Z.mod_pos_bound (v - r) m). rewrite count_interval; lia.
      + intros j J. apply in_numbers_below in J. destruct (Z.leb_spec r (m * Z.of_nat q + r + j)); [|nia]. cbn [andb].
        replace ((m * Z.of_nat q + r + j) mod m) with ((r + j) mod m).
        2:{ replace (m * Z.of_nat q + r + j) with (r + j + Z.of_nat q * m) by ring. now rewrite Z.mod_add by lia. }
        assert (A : (r + j) mod m = v <-> (v - r) mod m = j).
        { split; intros <-.
          - rewrite Zminus_mod_idemp_l. replace (r + j - r) with j by ring. apply Z.mod_small. lia.
          - rewrite Zplus_mod_idemp_r. replace (r + (v - r)) with v by ring. apply Z.mod_small. lia. }
        destruct (Z.eqb_spec ((r + j) mod m) v) as [X|X].
        * apply A in X. rewrite X. destruct (Z.leb_spec j j), (Z.ltb_spec j (j + 1)); auto; lia.
        * destruct (Z.leb_spec ((v - r) mod m) j), (Z.ltb_spec j ((v - r) mod m + 1)); auto. exfalso. apply X, A. lia. }
  specialize (G (Z.to_nat (2 ^ b / m))). rewrite Z2Nat.id in G by (apply Z.div_pos; lia).
  unfold r in G at 2. rewrite <- Z.div_mod in G by lia. exact G.
Qed.

(** Each rank comes from as many words as its weight says: A if it is one of the first [near], otherwise B. *)
Lemma words_of_a_rank : forall b near far heavy light r, 0 < near -> 0 < far -> 0 < light -> 0 < heavy ->
  near * heavy + far * light <= 2 ^ b -> 0 <= r < near + far ->
  Z.of_nat (count (fun word => (word <? near * heavy + far * light) && (rank_of near heavy light word =? r))
    (numbers_below (2 ^ b)))
  = if r <? near then heavy else light.
Proof.
  intros b near far A B r N F HB HA W R. set (lo := if r <? near then r * A else near * A + (r - near) * B).
  set (w := if r <? near then A else B). rewrite (count_ext _ _ (fun i => (lo <=? i) && (i <? lo + w))).
  - unfold lo, w. destruct (Z.ltb_spec r near); rewrite count_interval; nia.
  - intros i I. apply in_numbers_below in I. unfold rank_of, lo, w.
    assert (D : forall a q, 0 < q -> q * (a / q) <= a < q * (a / q) + q).
    { intros a q Q. pose proof (Z.div_mod a q). pose proof (Z.mod_pos_bound a q). lia. }
    destruct (Z.ltb_spec i (near * A + far * B)), (Z.ltb_spec i (near * A)), (Z.ltb_spec r near); cbn [andb];
      pose proof (D i A HA) as DA; pose proof (D (i - near * A) B HB) as DB; set (qa := i / A) in *;
        set (qb := (i - near * A) / B) in *;
      match goal with |- context [?x =? r] => destruct (Z.eqb_spec x r) | _ => idtac end;
      match goal with |- context [?x <=? i] => destruct (Z.leb_spec x i);
        match goal with |- context [i <? ?y] => destruct (Z.ltb_spec i y) end end;
      cbn [andb]; auto; exfalso; try nia.
Qed.

(** So all numbers below the bound have equally many tapes: the same number of continuations. *)
Theorem numbers_are_uniform : forall b d bound v, 0 < bound <= 2 ^ b -> 0 <= v < bound ->
  count (leads_to (draw_below bound) v) (tapes b d) =
  continuations (length (numbers_below (2 ^ b))) (count (fun word => negb (word <? bound)) (numbers_below (2 ^ b))) d.
Proof. intros b d m v M V. unfold draw_below. rewrite tapes_of_a_value, words_of_a_number by auto. apply Nat.mul_1_l. Qed.

(** And all remainders: 2^b / bound times the continuations. *)
Theorem remainders_are_uniform : forall b d bound v, 0 <= b -> 0 < bound <= 2 ^ b -> 0 <= v < bound ->
  Z.of_nat (count (leads_to (draw_remainder b bound) v) (tapes b d)) =
  2 ^ b / bound * Z.of_nat (continuations (length (numbers_below (2 ^ b)))
    (count (fun word => negb (2 ^ b mod bound <=? word)) (numbers_below (2 ^ b))) d).
Proof.
  intros b d m v B M V. unfold draw_remainder. rewrite tapes_of_a_value, Nat2Z.inj_mul, words_of_a_remainder by auto.
    reflexivity.
Qed.

(** So a rank's tapes are its weight times a number that is the same for all ranks: the ranks have exactly their weights. *)
Theorem ranks_have_their_weights : forall b d near far heavy light r, 0 < near -> 0 < far -> 0 < light -> 0 < heavy ->
  near * heavy + far * light <= 2 ^ b -> 0 <= r < near + far ->
  Z.of_nat (count (leads_to (draw_rank near far heavy light) r) (tapes b d)) =
  (if r <? near then heavy else light)
  * Z.of_nat (continuations (length (numbers_below (2 ^ b))) (count (fun word => negb (word <? near * heavy + far *
    light)) (numbers_below (2 ^ b))) d).
Proof.
  intros b d near far A B r N F HB HA W R. unfold draw_rank.
    rewrite tapes_of_a_value, Nat2Z.inj_mul, (words_of_a_rank b near far A B r); auto.
Qed.

(** ** From ranks to symbols *)

(** A program turns the rank into a symbol: [place] is a bijection between ranks and symbols that takes the ranks below
  [near] to
    the record's heavy symbols. Then each symbol comes from as many words as its weight says. *)
Theorem words_of_a_symbol : forall T (same : T -> T -> bool) (place : Z -> T) (is_heavy : T -> bool) b near far heavy light r,
  0 < near -> 0 < far -> 0 < light -> 0 < heavy -> near * heavy + far * light <= 2 ^ b ->
  (forall i j, 0 <= i < near + far -> 0 <= j < near + far -> same (place i) (place j) = true <-> i = j) ->
  (forall i, 0 <= i < near + far -> is_heavy (place i) = (i <? near)) -> 0 <= r < near + far ->
  Z.of_nat (count (fun word => (word <? near * heavy + far * light) && same (place (rank_of near heavy light word)) (place r))
    (numbers_below (2 ^ b)))
  = if is_heavy (place r) then heavy else light.
Proof.
  intros T same place is_heavy b near far A B r N F HB HA W Inj Hv R.
    rewrite (Hv r R), <- (words_of_a_rank b near far A B r) by auto.
  f_equal. apply count_ext. intros i I. apply in_numbers_below in I.
    destruct (Z.ltb_spec i (near * A + far * B)) as [L|L]; auto. cbn [andb].
  assert (Q : 0 <= rank_of near A B i < near + far).
  { unfold rank_of. destruct (Z.ltb_spec i (near * A)).
    - split; [apply Z.div_pos; lia|]. assert (i / A < near) by (apply Z.div_lt_upper_bound; lia). lia.
    - assert (0 <= (i - near * A) / B) by (apply Z.div_pos; lia).
      assert ((i - near * A) / B < far) by (apply Z.div_lt_upper_bound; lia). lia. }
  specialize (Inj _ r Q R). destruct (Z.eqb_spec (rank_of near A B i) r) as [E|E].
  - now apply Inj.
  - destruct (same _ _); auto. exfalso. now apply E, Inj.
Qed.

(** The number at a place among those that are not a record's own, which are sorted. *)
Definition other (own : list Z) (place : Z) : Z := fold_left (fun p a => if a <=? p then p + 1 else p) own place.

Lemma other_is_near : forall own x, x <= other own x <= x + Z.of_nat (length own).
Proof.
  induction own as [|a own IH]; intros x; unfold other in *; cbn [fold_left length]; [lia|].
  destruct (Z.leb_spec a x); [specialize (IH (x + 1)) | specialize (IH x)]; lia.
Qed.

Lemma other_grows : forall own x y, x < y -> other own x < other own y.
Proof.
  induction own as [|a own IH]; intros x y H; unfold other in *; cbn [fold_left]; auto.
  apply IH. destruct (Z.leb_spec a x), (Z.leb_spec a y); lia.
Qed.

Lemma other_avoids_smaller : forall own a y, Forall (fun b => a < b) own -> y <> a -> other own y <> a.
Proof.
  induction own as [|b own IH]; intros a y F H; unfold other in *; cbn [fold_left]; auto. inversion F; subst.
  apply IH; auto. destruct (Z.leb_spec b y); lia.
Qed.

Lemma other_avoids : forall own x, StronglySorted Z.lt own -> ~ In (other own x) own.
Proof.
  induction own as [|a own IH]; intros x S; [simpl; tauto|]. inversion S; subst. unfold other. cbn [fold_left].
    fold (other own).
  intros [E|I]; [|now apply (IH _ H1) in I]. symmetry in E. revert E. apply other_avoids_smaller; auto.
    destruct (Z.leb_spec a x); lia.
Qed.

(** The k - t places mean k - t different numbers below k, none of them the record's own: with its own ones, all k numbers. *)
Theorem other_numbers_are_the_rest : forall k t own, StronglySorted Z.lt own -> Z.of_nat (length own) = t ->
  (forall x, 0 <= x < k - t -> 0 <= other own x < k /\ ~ In (other own x) own) /\
  (forall x y, other own x = other own y -> x = y).
Proof.
  intros k t own S T. split.
  - intros x X. pose proof (other_is_near own x). split; [lia | now apply other_avoids].
  - intros x y E. destruct (Z.lt_trichotomy x y) as [L|[L|L]]; auto; apply (other_grows own) in L; lia.
Qed.

(** The own numbers a_j, each less j. *)
Fixpoint shifted (own : list Z) (j : Z) : list Z := match own with [] => [] | a :: own => (a - j) :: shifted own (j + 1) end.

(** [Block.place] searches once: it moves the place by the number of those a_j - j that are at most the place. *)
Definition found_by_search (own : list Z) (place : Z) : Z := place + Z.of_nat (count (fun b => b <=? place) (shifted own 0)).

(** It finds the same number. *)
Theorem search_finds_the_other_number : forall own place, StronglySorted Z.lt own ->
  found_by_search own place = other own place.
Proof.
  assert (N : forall own a j p, StronglySorted Z.lt (a :: own) -> p < a - j ->
    count (fun b => b <=? p) (shifted own (j + 1)) = 0%nat /\ forall y, y <= p + j -> other own y = y).
  { induction own as [|b own IH]; intros a j p S H; [auto|]. inversion S as [|? ? S' F]; subst. inversion F; subst.
    destruct (IH b (j + 1) p S') as [C O]; [lia|]. cbn [shifted]. rewrite count_cons, C. split.
    - destruct (Z.leb_spec (b - (j + 1)) p); lia.
    - intros y Y. unfold other. cbn [fold_left]. destruct (Z.leb_spec b y); [lia|]. apply O. lia. }
  assert (G : forall own j p, StronglySorted Z.lt own ->
    p + j + Z.of_nat (count (fun b => b <=? p) (shifted own j)) = other own (p + j)).
  { induction own as [|a own IH]; intros j p S; [unfold other; simpl; lia|]. inversion S as [|? ? S' F]; subst.
    cbn [shifted]. rewrite count_cons. unfold other. cbn [fold_left]. fold (other own).
    destruct (Z.leb_spec (a - j) p), (Z.leb_spec a (p + j)); try lia.
    - replace (p + j + 1) with (p + (j + 1)) by ring. rewrite <- IH by auto. lia.
    - destruct (N own a j p S) as [C O]; [lia|]. rewrite C. unfold other in *. cbn [fold_left]. rewrite O; lia. }
  intros own p S. specialize (G own 0 p S). rewrite !Z.add_0_r in G. exact G.
Qed.
