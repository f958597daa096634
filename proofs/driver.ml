(* Runs what Coq proved: one question a line, one answer a line. Numbers are binary, "-" stands for none.

   symbols KIND size top heavy light bits terms labels epsilon label_count text_epsilon label_epsilon
   laplace KIND dim clip_norm replaced votes sensitivity scale epsilon said_sensitivity said_scale
   below bound WORDS
   Questions for Draws.v have groups of numbers, with commas between them, and several draws read one tape in turn; the answer
   ends with the number of words that are left, or is "end".
   each,bits bound count,WORDS | symbols,size heavy light t,OWN_NUMBERS,WORDS | pairs,k labels heavy light t,OWN_NUMBERS,LABELS,WORDS
   noisy,bits t shift,VALUES,WORDS | grid,l1 radius,NUMERATORS,DENOMINATORS | tally,m cells,PERSONS,VOTES (-1 for none) *)

open Extracted

let z text =
  let negative = text.[0] = '-' in
  let digits = if negative then String.sub text 1 (String.length text - 1) else text in
  let add found digit =
    match found, digit with
    | None, '0' -> None
    | None, _ -> Some XH
    | Some p, '0' -> Some (XO p)
    | Some p, _ -> Some (XI p) in
  match Seq.fold_left add None (String.to_seq digits) with
  | None -> Z0
  | Some p -> if negative then Zneg p else Zpos p

let rec digits p rest = match p with XH -> "1" ^ rest | XO p -> digits p ("0" ^ rest) | XI p -> digits p ("1" ^ rest)
let shown = function Z0 -> "0" | Zpos p -> digits p "" | Zneg p -> "-" ^ digits p ""

let fraction text =
  match String.split_on_char '/' text with
  | [p; q] -> (match z q with Zpos q -> { qnum = z p; qden = q } | _ -> failwith "a denominator must be positive")
  | _ -> failwith "a fraction is p/q"

let optional text = if text = "-" then None else Some (z text)
let verdict accepted = if accepted then "accepted" else "refused"
let drawn = function None -> "end" | Some (value, rest) -> shown value ^ " " ^ string_of_int (List.length rest)

let map f l = List.rev (List.rev_map f l)
let numbers text = if text = "" then [] else map z (String.split_on_char ' ' text)
let rec nat n = if n = 0 then O else S (nat (n - 1))
let int value = int_of_string ("0b" ^ shown value)
let absent_or value = match value with Zneg _ -> None | _ -> Some (nat (int value))
let all values = String.concat " " (map shown values)
let read = function None -> "end" | Some (values, rest) -> all values ^ " " ^ string_of_int (List.length rest)

let in_turn programs tape =
  let rec go programs tape found = match programs with
    | [] -> Some (List.rev found, tape)
    | program :: programs -> (match program tape with None -> None | Some (v, rest) -> go programs rest (v :: found)) in
  go programs tape []

let groups size values =
  let rec go values found group left = match values with
    | [] -> List.rev found
    | v :: values when left = 1 -> go values (List.rev (v :: group) :: found) [] size
    | v :: values -> go values found (v :: group) (left - 1) in
  go values [] [] size

let answer line =
  match String.split_on_char ' ' line with
  | ["symbols"; kind; size; top; heavy; light; bits; terms; labels; epsilon; count; text; label] ->
    let kind = match kind with "text" -> Of_text | "label" -> Of_label | _ -> Of_both in
    verdict (accepts_symbols { kind; symbol_count = z size; top = z top; heavy = z heavy; light = z light; bits = z bits;
      terms = z terms;
      labels = optional labels; epsilon = fraction epsilon; label_count = z count; text_epsilon = fraction text;
        label_epsilon = fraction label })
  | ["laplace"; kind; dim; clip_norm; replaced; votes; sensitivity; scale; epsilon; said_sensitivity; said_scale] ->
    let what = match kind with "l1" -> Clipped_l1 | "l2" -> Clipped_l2 | _ -> Counts in
    verdict (accepts_laplace { what; dim = z dim; clip_norm = z clip_norm; persons_replaced = replaced = "1";
      votes_per_person = z votes;
      sensitivity = z sensitivity; scale = fraction scale; noise_epsilon = fraction epsilon;
        said_sensitivity = z said_sensitivity; said_scale = z said_scale })
  | "below" :: bound :: words -> drawn (draw_below (z bound) (List.map z words))
  | _ -> failwith ("no question: " ^ line)

let answer_groups line =
  match String.split_on_char ',' line with
  | ["each"; sizes; words] -> (match numbers sizes with
    | [bits; bound; count] -> read (below_each bits bound (nat (int count)) (numbers words)) | _ -> failwith line)
  | ["symbols"; sizes; own; words] -> (match numbers sizes with
    | [size; heavy; light; t] ->
      read (in_turn (map (draw_symbol size heavy light) (groups (int t) (numbers own))) (numbers words))
    | _ -> failwith line)
  | ["pairs"; sizes; own; labels; words] -> (match numbers sizes with
    | [k; count; heavy; light; t] ->
      let programs = List.rev (List.rev_map2 (draw_pair k count heavy light) (groups (int t) (numbers own)) (numbers labels)) in
      (match in_turn programs (numbers words) with
       | None -> "end"
       | Some (pairs, rest) -> read (Some (List.concat_map (fun (outcome, label) -> [outcome; label]) pairs, rest)))
    | _ -> failwith line)
  | ["noisy"; sizes; values; words] -> (match numbers sizes with
    | [bits; t; shift] -> read (noisy_values bits t shift (numbers values) (numbers words)) | _ -> failwith line)
  | ["grid"; sizes; over; under] -> (match numbers sizes with
    | [l1; radius] -> all (to_grid (l1 <> Z0) radius (List.combine (numbers over) (numbers under))) | _ -> failwith line)
  | ["tally"; sizes; persons; votes] -> (match List.map int (numbers sizes) with
    | [m; cells] ->
      all (tally (nat m) (List.init cells nat) (List.map2 (fun person vote -> (absent_or person, absent_or vote))
        (numbers persons) (numbers votes)))
    | _ -> failwith line)
  | _ -> failwith ("no question: " ^ line)

let () = try while true do let line = input_line stdin in print_endline (if String.contains line ',' then answer_groups line else answer line) done with End_of_file -> ()
