"""What travellers ask a desk about places, baggage, meals and conditions: one rule ``ask_<intent>`` per intent, and its parts."""

from __future__ import annotations

TRIP_QUESTIONS: dict[str, str] = {
    "ask_airport": """
        /3/ (which | what) (airport is | airports are) (near | nearest to | closest to | in | around) <city>
        | /2/ (which | what) airport does <airline> (use | fly into | fly out of) in <city>
        | (which | what) airport does <this_flight> (leave from | land at | go into)
        | /2/ <show> [all] [the] airports (in | near | around) <city>
        | what's the name of the [main | international] airport in <city>
        | (which | what) (terminal | gate) does <this_flight> (leave from | depart from)
        | (which | what) terminal does <airline> (leave from | use) <at_airport>
        | <wonder> (which | what) airport i'd be (landing at | flying into | leaving from) in <city>
        | is that <rival_airports> | do (they | you) fly out of <rival_airports>
        | where (is | exactly is) <airport> [airport]
        | is <airport> the (closest | nearest) airport to <sight>
        | /.5/ (airports | airport) in <city> | does <city> have an [international] airport
        | tell me about <airport> [airport]
        | are there any (other | smaller) airports near <city>
    """,
    "ask_distance": """
        /4/ how far is (<airport_of> from <sight> | it from <airport_of> to <sight>
            | <sight> from <airport_of> | <city> from <city> | it from <city> to <city>)
        | /2/ (what's | what is) the distance (from <airport_of> to <sight> | between <city> and <city>
            | from <city> to <city> | between <airport> and <sight>)
        | /2/ how many (miles | kilometers) is (it from <city> to <city> | it from <airport_of> to <sight>
            | <airport> from <sight>)
        | <wonder> how far (<airport> is from <sight> | apart <city> and <city> are
            | it is from <city> to <city> | the airport is from <sight> in <city>)
        | how (close | near) is <airport> [airport] to <sight>
        | is (<airport> | the <city> airport) far from <sight>
        | is it a long (drive | way | ride) from <airport_of> to <sight>
        | and how far from <sight>
        | can i walk from <airport> to <sight> or is it too far
        | the distance from <airport> to <sight>
        | how long a drive is it from <airport_of> to <sight>
        | is <airport> (within ten miles of | anywhere near) <sight>
    """,
    "ask_baggage": """
        /3/ how many (bags | suitcases | carry ons | pieces of luggage) (can i | am i allowed to)
            (check | bring | take) [on <airline>] [in <cabin>]
        | /2/ (what's | what is | <tell>) the (baggage allowance | luggage limit | weight limit
            | checked bag fee | bag fee | carry on size) (on <airline> | for <this_flight> | in <cabin>)
        | /3/ can i (bring | take | check) <luggage> (on <this_flight> | on <airline> | with me)
        | /2/ how much (does it cost | do you charge | does <airline> charge) (to check | for)
            (a | a second | an extra | an overweight) (bag | suitcase)
        | is (a checked bag | one bag | luggage | a carry on) included (in the fare | in <cabin>
            | on <airline> | <to>)
        | how (heavy | big) can my (bag | suitcase | carry on) be [on <airline>]
        | my (bag | suitcase) (didn't arrive | was lost | is over fifty pounds) on <flight_name> what do i do
        | do i have to pick up my (bags | luggage) in <city>
        | will my (bags | luggage) be checked through to <city>
        | i'm (traveling | flying) <to> with <luggage> [and <luggage>] (does that cost extra | is that okay
            | do i have to pay for that)
        | what about (<luggage> | my bags | bags | carry ons)
        | (baggage | luggage) [allowance] [on <airline>]
        | where do i (pick up | claim | drop) my (bags | luggage) <at_airport>
    """,
    "ask_meal": """
        /3/ (is there | do they serve | will there be | do i get | do you serve) <meal> on <this_flight>
        | /2/ what (meal is | meals are | food is | kind of meal is) (served | offered | included)
            (on <this_flight> | in <cabin> on <airline>)
        | /2/ does <this_flight> (serve | have | include | offer) (<meal> | a <diet> option | food)
        | (can i | could i) (get | order | request) a <diet> meal (on <this_flight> | on <airline>)
        | <show> the (meals | menu | meal options) (for | on) <this_flight>
        | do i get <meal> in <cabin> [on <airline>]
        | <wonder> (if | whether) <meal> is served on <this_flight>
        | does <airline> (serve | have) (<meal> | <diet> meals) [<heading>] [in <cabin>]
        | my <relative> needs a <diet> meal on <airline> is that possible
        | what's for (breakfast | lunch | dinner) on <this_flight>
        | is <meal> included [in the fare] | (what | which) flights have <meal> | /.4/ (<meal> | meals)
        | do they (have | do) <diet> meals | will they feed us on <this_flight>
        | is the (food | wine | coffee) free in <cabin> | i need a <diet> meal on <this_flight>
    """,
    "ask_city": """
        /4/ (which | what) (cities | places | destinations) does <airline> (fly to | serve | go to)
            [from <city>] [/.3/ nonstop]
        | /2/ <show> [all] the (cities | places | destinations) (that <airline> serves | served by <airline>
            | <airline> flies to) [from <city>]
        | where does <airline> (fly | go) [from <city>] [/.5/ nonstop]
        | (which | what) city (is <airport> in | is that in | does <this_flight> stop in)
        | where does <this_flight> (stop | connect | go after that | refuel)
        | where (is | exactly is) <other_city>
        | where can i (fly | go) [nonstop] from <city> (for less than <amount> | on <airline> | <loose_day>)
        | <wonder> (what | which) (cities <airline> flies to from <city> | city <flight_name> goes through
            | city i'd be connecting in)
        | (which | what) (state | country) is <other_city> in
        | /.4/ in which city do i change planes
        | what cities are served by both <airline> and <airline>
        | what (city | cities) can i connect through [on <airline>] [/2/ <to>]
    """,
    "ask_capacity": """
        /3/ how many (people | passengers | travelers) (fit on | can fit on | are on | does it take to fill)
            <plane>
        | /2/ how many (people | passengers) (can <plane> carry | does <plane> hold | will <plane> seat)
        | /2/ what's the (seating capacity | capacity | passenger capacity | maximum number of passengers)
            (of | on) (<plane> | <this_flight>)
        | how many (seats | first class seats | rows | economy seats) (are there on | are on)
            (<this_flight> | <plane>)
        | <wonder> how (big | large) (<plane> is | the plane on <flight_name> is)
        | how (big | large) is (<plane> | the plane on <flight_name>)
        | how many (seats | rows) does (that plane | <plane> | the plane on <flight_name>) have
        | how many (people can it carry | passengers does it hold | seats does it have)
        | <show> the (seating capacity | number of seats | capacity) (of | on) (<plane> | <this_flight>)
        | (does | will) <plane> hold more people than <plane>
        | (what about | and) <plane> how many seats | is <plane> bigger than <plane>
    """,
    "ask_flight_number": """
        /3/ (what's | what is) the (flight number | number) (of | for) <named_flight>
        | /2/ <tell> the (flight number | number) (of | for) <named_flight>
        | /2/ <show> the flight numbers (of | for) (<airline> flights <heading> | flights <heading>
            | all flights <heading> <loose_day>)
        | (which | what) flight number (is that | is it | is the <timetable_hour> flight <to>
            | leaves <city> at <clock> | goes <route>)
        | i (forgot | lost | don't have) my flight number i'm (flying | going) <route> [on <airline>] <day>
        | what's my flight number <day> | /.5/ what's that flight number again | flight numbers [/3/ <route>]
        | /.5/ and the flight number
        | what's the number of the flight that (leaves | arrives in | gets into) <city> <time>
    """,
    "named_flight": """
        the <airline> flight <route> | the <timetable_hour> flight <to> | the <weekday> flight <route>
        | /.3/ that flight
        | the (first | last | earliest) flight <heading> [<day>]
        | my flight <to>
    """,
    "ask_ground_fare": """
        /3/ how much (is | does it cost for) a <vehicle> (<to_sight> | in <city> | to <sight>)
        | how much would a <vehicle> (be | cost) (<to_sight> | to <sight>)
        | /2/ (what's | what is | <tell>) the (fare | price | cost | rate) for a <vehicle>
            (<to_sight> | in <city>)
        | /2/ (what | how much) does (a | the) <vehicle> cost (in <city> | <to_sight>)
        | how much does <rental_company> charge (a day | a week | for a week) (in <city> | <at_airport>)
        | (what are | <show>) the (prices | rates | fares) for <vehicles> in <city>
        | how much do <vehicles> (cost | charge) (in <city> | from <airport> to <sight>)
        | is the <vehicle> (cheaper | more expensive) than a <vehicle> to <sight>
        | (what about | and) a <vehicle> how much is that
        | is there a <vehicle> to <sight> (for less than | under) <tens> dollars
        | what do they charge for parking <at_airport>
        | how much is it to rent a car in <city> [<loose_day>]
        | what's the <vehicle> fare to <sight>
    """,
    "ask_restriction": """
        /3/ what (restrictions are there on | restrictions apply to | are the restrictions on)
            <fare_or_ticket>
        | are there any restrictions on <fare_or_ticket> | /3/ can i <favor> (with | on) <fare_or_ticket>
        | /2/ is <fare_or_ticket> (refundable | nonrefundable | changeable | transferable)
        | <wonder> if <fare_or_ticket> is (refundable | nonrefundable | changeable | transferable)
        | do i have to stay over a saturday night (to get that fare | for <fare_or_ticket>)
        | how far in advance do i have to book (for that fare | to get the <fare_adjective> fare [<to>])
        | <show> the restrictions on <fare_or_ticket>
        | what happens if i <change_of_plan> (with | on) <fare_or_ticket>
        | is there a (penalty | fee) (if i <change_of_plan> | for changing <fare_or_ticket>)
        | what does it cost if i <change_of_plan> | i bought a <trip> ticket <to> can i <favor>
        | is there a minimum stay (on | for) <fare_or_ticket>
        | /.5/ any restrictions
    """,
    "fare_or_ticket": """
        the <fare_adjective> fare [<heading>] | that fare | this ticket | a <trip> ticket <heading>
        | a ticket on <airline>
        | the (two | three | four | five) hundred dollar fare
        | a ticket in <cabin> <heading> | the <airline> fare | a discount ticket <to>
    """,
    "ask_day_name": """
        /3/ (what | which) (days | days of the week | weekdays) does <airline> fly <heading> [/.3/ <stops>]
        | /2/ (what | which) (days | days of the week) does (<flight_name> | the nonstop <route>
            | the red eye <route>) (run | go | fly | operate)
        | <wonder> (what | which) days (there's a flight | there are flights | <airline> flies) <route>
        | on (what | which) days (are there | can i get) (nonstop | direct | cheap) flights <heading>
        | what day (is | of the week is) (<date> | <holiday> | that)
        | which day is the cheapest to fly <heading> | does <this_flight> (go | run | fly) every day
        | is there a flight <route> every (day | weekday | week)
        | is <flight_name> daily | does <flight_name> (run | fly) only on weekdays
        | (does <airline> | do they) fly <route> on (weekends | weekdays | sundays | saturdays)
        | what day do i (get back | arrive | land) if i leave <city> <day>
        | /.5/ (what | which) days | /.5/ what days of the week is that | is <date> a <weekday>
    """,
}
"""Right-hand sides by rule name, in the notation of `adept.data.air_travel.grammar`."""
