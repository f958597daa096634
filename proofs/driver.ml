(* Runs what Coq proved: one question a line, one answer a line. Numbers are binary, "-" stands for none.

   symbols KIND size top heavy light bits terms labels epsilon label_count text_epsilon label_epsilon
   laplace KIND dim clip_norm replaced votes sensitivity scale epsilon said_sensitivity said_scale
   below bound WORDS | remainder bits bound WORDS | rank near far heavy light WORDS
   other place OWN_NUMBERS *)

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
  | "remainder" :: bits :: bound :: words -> drawn (draw_remainder (z bits) (z bound) (List.map z words))
  | "rank" :: near :: far :: heavy :: light :: words ->
    drawn (draw_rank (z near) (z far) (z heavy) (z light) (List.map z words))
  | "other" :: place :: own ->
    let own = List.map z own in
    shown (other own (z place)) ^ " " ^ shown (found_by_search own (z place))
  | _ -> failwith ("no question: " ^ line)

let () = try while true do print_endline (answer (input_line stdin)) done with End_of_file -> ()
