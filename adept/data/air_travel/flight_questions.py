"""How travellers ask for flights and for fares: one rule ``ask_<intent>`` each, followed by its parts."""

from __future__ import annotations

FLIGHT_QUESTIONS: dict[str, str] = {
    "ask_flight": """
        /10/ <flight_request> | /7/ <flight_question> | /4/ <flight_plan> | /2/ <flight_story>
        | /7/ <flight_follow_up>
    """,
    "flight_request": """
        /8/ <show> <flights> <heading> [/1.5/ <when>] [/.3/ <wish>]
        | /4/ <show> <the_flight> <heading> [/1.5/ <day>] [/.3/ <wish>]
        | /3/ <show> [the] <airline> flights <heading> [/1.5/ <when>] [/.3/ in <cabin>]
        | /2/ <show> [the] <part_adjective> flights <heading> [<day>] [/.4/ <carrier>]
        | /2/ <flights> <heading> [/1.5/ <when>] [/.3/ <wish>]
        | /2/ <show> <flights> <heading> [<when>] and [the] (fares | prices | ticket prices | flight times)
        | /.5/ <show> <flights> <heading> (that serve | serving | with) <served>
        | /.5/ <show> <flights> <heading> on (a boeing | an airbus | a jet | a big plane)
    """,
    "flights": """
        /6/ flights | /2/ all flights | the flights | nonstop flights | direct flights | round trip flights
        | cheap flights | available flights | connecting flights | all the flights | some flights
        | the cheapest flights
    """,
    "the_flight": """
        /3/ a flight
        | the (earliest | latest | cheapest | shortest | next | last | first) flight
        | an overnight flight | a <trip> flight | the (cheapest | fastest | best) <trip> flight
        | a cheap flight | the least expensive flight | a nonstop flight | a cheap <trip> flight
    """,
    "part_adjective": """
        /2/ morning | /2/ afternoon | /2/ evening | early | late | weekend | early morning | late night
        | midday | daytime
    """,
    "wish": """
        /4/ <carrier> | /3/ <stops> | /2/ <budget> | /2/ in <cabin> | <party> | <stops> <carrier>
        | in <cabin> <party> | <carrier> <budget> | with <served> | <party> <budget> | in <cabin> <carrier>
        | /.3/ in <cabin> <oops> <cabin> | /.3/ with (a window | an aisle) seat
    """,
    "served": "breakfast | lunch | /2/ dinner | /2/ a meal | meals | a snack | a hot meal | food",
    "flight_question": """
        /3/ (is there | do you have) <one_flight> <heading> [/1.5/ <when>] [/.3/ <wish>]
        | /2/ (are there | do you have) [any] <many_flights> <heading> [/1.5/ <when>] [/.3/ <wish>]
        | /2/ does <airline> (fly | have a flight | have anything | go) <heading> [<when>] [/.3/ <stops>]
        | /2/ (what | which) flights (are there | do you have | go | leave) <heading> [/1.5/ <when>]
            [/.3/ <carrier>]
        | /2/ what's the (earliest | first | last | latest | next | cheapest) flight <heading> [<day>]
            [/.3/ <carrier>]
        | can i (get | fly | go) <route> [<loose_day>] [<stops>] [/.3/ <carrier>]
        | [/.4/ <wonder>] what flights <airline> has <heading> [<when>]
        | what are my options for (getting | flying | going) <route> <loose_day> [/.3/ <wish>]
        | is it possible to (fly | go) <route> [<loose_day>] [/.4/ for (under | less than) <amount>]
        | <wonder> if there's <one_flight> <heading> [<when>] [/.3/ <wish>]
        | what do you have <route> <when>
        | /.7/ which <airline> flights <heading> (are nonstop | serve <served>)
        | /.7/ does <this_flight> stop (in <city> | anywhere)
        | /.7/ is there (an earlier | a later) flight than <flight_name>
        | /.7/ what flight <heading> (is the cheapest | has the lowest fare | gets in first | is the shortest)
    """,
    "one_flight": """
        /5/ a flight | a nonstop flight | a direct flight | an earlier flight | a later flight | any flight
        | anything | a red eye | a cheap flight | an afternoon flight | a morning flight
    """,
    "many_flights": """
        /4/ flights | nonstop flights | direct flights | cheap flights | more flights | other flights
        | seats left on flights
    """,
    "flight_plan": """
        /4/ <want_to> (fly | travel | go | get) <route> [/2/ <when>] [/.3/ <wish>]
        | /2/ <want_to> (fly | go) <route> <day> and (return | come back | fly back) <return_day>
            [/.3/ <wish>]
        | <want_to> (book | reserve | make a reservation for) a [<trip>] (flight | ticket) <route> [<when>]
            [/.3/ <wish>]
        | <want_to> be in <city> by <clock> <day> coming from <city> [/.3/ <wish>]
        | i need a [<trip>] (ticket | flight | seat) <route> [<when>] [/.3/ <wish>]
        | book me a [<trip>] (flight | ticket) <route> [<when>] [/.3/ <wish>]
        | <want_to> fly <route> <stops> [<carrier>] leaving <day> <time>
        | <want_to> (leave | depart) <from> <day> [<time>]
        | <want_to> (fly | go) <from> <to> then on to <city> and [then] back home <loose_day>
        | <want_to> (arrive in | get into) <city> <day> <time> on a flight <from>
    """,
    "flight_story": """
        /3/ (i have | i've got | there's) a <occasion> in <city> <day> (so | and) i need to be there by
            <clock> (what do you have | what are my options | what leaves) from <city> [/.4/ <wish>]
        | /2/ my <relative> is (coming | flying) <route> <day>
            [and bringing the kids | with <several> children] (what flights are there | what do you have
            | so what's available | is there anything nonstop) [<carrier>]
        | <want_to> (make a trip | travel) <route> leaving <day> <time> and (coming | flying) back
            <return_day> <time> [and i'd prefer <airline> or <airline>]
            [if they have (something | anything) <budget>]
        | we're (planning a vacation | taking a few days off) in <city> <loose_day> and we'd be leaving from
            <city> (what's available | is there anything nonstop | what would you suggest) [<budget>]
        | i missed my <airline> flight <to> (when is | what is) the next one [i can get on] [<part_of_day>]
        | i'm in <city> (right now | this week | at the moment) and i (need | have | want) to (get | fly) <to>
            <day> [<time>] is there (anything | something) [<stops>]
    """,
    "flight_follow_up": """
        /6/ <city> to <city> [/2/ <loose_day>] [/.3/ <time>] [/.2/ <wish>]
        | /1.5/ [the] cheapest one | /1.5/ and back [/3/ <return_day>] [/.5/ <time>]
        | /2/ (what about | how about) <day> [/.5/ <time>] | /2/ (what about | how about | and) <time>
        | /2/ (what about | how about) (on | with) <airline>
        | (same thing | the same) but <day>
        | anything (earlier | later | cheaper | sooner) [<day>]
        | nonstop [only] [flights] | the return flight [/2/ <return_day>] | <day> [<time>] | /.4/ tomorrow
        | /.4/ <city>
        | (is there | do you have) anything (earlier | later) than that
        | /.7/ <trip>
        | the one (at | that leaves at | that gets in at) <clock>
        | (yes | okay) (i'll take | book) the (first | second | last | earlier | cheaper) one
        | (same route | the same) (on | with) <airline> | (how about | what about) <from> instead
        | (how about | what about) (flying | going) <to> instead
        | returning <return_day> [/.5/ <time>]
        | (show me | list) (those | these) again but <stops>
        | (flights | flight) [/2/ <to>]
        | which (one | of these | of those) (leaves first | is nonstop | is the shortest | gets in earliest
            | serves <served> | has the lowest fare)
        | (only | just) the ones (on | with) <airline> | [on] <airline> | /.7/ in <cabin>
        | arriving (by | before) <clock> | leaving <time> | /.3/ no <weekday>
    """,
    "ask_airfare": """
        /4/ how much (is | would be | does it cost for) a [<trip>] (ticket | flight | seat) <heading>
            [<loose_day>] [/.3/ <fare_wish>]
        | /3/ (how much does it cost | what does it cost | how much would it be) to (fly | go | get) <route>
            [<loose_day>] [/.3/ <fare_wish>]
        | /4/ (what's | what is | <tell>) the [<fare_adjective>] [<trip>] <fare> <heading> [<loose_day>]
            [/.3/ <fare_wish>]
        | /4/ <show> [the] [<fare_adjective>] [<trip>] (fares | airfares | ticket prices) <heading>
            [<loose_day>] [/.3/ <fare_wish>]
        | /2/ (what | which) (fares | prices) (are there | do you have | does <airline> have) <heading>
            [<loose_day>]
        | /2/ <show> the (fares | prices | cost) (for | of) <flights> <heading> [<when>]
        | <show> the (fare for | price of | cost of) <this_flight>
        | how much is <this_flight> | how much does <this_flight> cost
        | <wonder> (what | how much) <airline> charges (to fly | to go) <route> [in <cabin>]
        | how much (is that one | is it | would that be | is the cheapest one | are those) [/.7/ in <cabin>]
        | (what about | how about) the fare (on | with) <airline>
        | do you have [any] [<trip>] fares (under | below | of less than) <amount> <heading> [<loose_day>]
        | is there a cheaper fare [/2/ <heading>] [<loose_day>]
        | what would (that | it) cost in <cabin> [/.5/ <party>]
        | (fares | prices) [/2/ <route>] [<loose_day>] | /.6/ the lowest <trip> fare <heading>
        | what's the difference in price between <cabin> and <cabin> <route>
        | <wonder> what (a ticket costs | a <trip> ticket costs | it costs to fly) <route> [<loose_day>]
    """,
    "fare": "/4/ fare | /2/ price | cost | airfare | ticket price | price of a ticket | cost of a flight",
    "fare_adjective": """
        /3/ cheapest | /2/ lowest | best | <cabin> | least expensive | student | discount | weekend
    """,
    "fare_wish": """
        /2/ on <airline> | on <airline> in <cabin> | /2/ in <cabin> | <party> | nonstop
        | without a saturday stay
    """,
}
"""Right-hand sides by rule name, in the notation of `adept.data.air_travel.grammar`."""
