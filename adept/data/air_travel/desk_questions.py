"""What travellers ask a desk about airlines, terms, aircraft and times: one rule ``ask_<intent>`` per intent, and its parts."""

from __future__ import annotations

DESK_QUESTIONS: dict[str, str] = {
    "ask_ground_service": """
        /3/ what (transportation | local transportation | public transport)
            (is there | is available | do you have) (in <city> | <at_airport>)
        | /3/ (how do i | how can i | what's the best way to | what's the fastest way to
            | what's the easiest way to) get (<to_sight> | downtown from <airport>)
        | /3/ (is there | do they have) a <vehicle> (<to_sight> | <at_airport>)
        | /2/ (are there | do they have | can i get) [any] <vehicles> (<at_airport> | in <city> | <to_sight>)
        | /2/ <show> [the] (airport transfers | transportation options | <vehicles> [and <vehicles>])
            (in <city> | <at_airport>)
        | /2/ (i need | i'd like | i'll need | can you get me | book me) a <hired_vehicle>
            (in <city> | <at_airport> | from <airport_of>) [<loose_day>]
        | can i (rent a car | get a <hired_vehicle> | take the <public_vehicle> | hire a driver)
            (in <city> | <at_airport>) [<day>]
        | <wonder> if there's a <vehicle> (between | that goes between) <airport_of> and <sight>
        | does <rental_company> have (a desk | cars | an office) (<at_airport> | in <city>)
        | when i land <at_airport> how do i get to <sight>
        | do the <vehicles> (run | still run) <part_of_day> in <city>
        | (what about | how about) a <vehicle> [/2/ to <sight>]
        | airport transfers [/2/ in <city>] | <vehicles> in <city>
        | my flight gets (into <city> | in) at <clock> is there [still] a <vehicle> to <sight>
        | how do i get to <airport_of> from <sight>
        | /.5/ where (do i | can i) (catch | find) the <vehicle> <at_airport>
    """,
    "to_sight": """
        /2/ from <airport_of> to <sight> | from the airport to <sight> in <city>
        | into <city> from the airport
    """,
    "ask_airline": """
        /4/ (which | what) (airlines | carriers) (fly | go | have flights | operate) <heading> [<loose_day>]
            [/.3/ <stops>]
        | /2/ <wonder> (which | what) (airline goes | airlines fly | carriers have flights) <heading>
            [<loose_day>]
        | /3/ <show> [the] (airlines | carriers) (that fly | flying | with flights) <heading> [<loose_day>]
            [/.3/ <stops>]
        | /2/ (which | what) (airline | carrier) is (that | this | it | <flight_or_number>)
        | /2/ (which | what) (airline | carrier) (flies | operates) <flight_or_number>
        | (which | what) (airline | carrier) has the (cheapest | most | earliest | shortest | best) flights
            <heading> [<loose_day>]
        | who (flies | goes) <heading> [<loose_day>] [<stops>]
        | who is <carrier_code> flight <number> (operated | flown) by
        | (which | what) (airlines | carriers) (serve | go into | use | fly out of) (<city> | <airport_of>)
        | is that (flight | one) on <airline> or <airline> | /.5/ (airlines | airline | carriers)
        | (airlines | carriers) <route>
        | (does anyone | does any airline) besides <airline> fly <route>
        | who else flies <heading>
        | (which | what) airlines (have | offer) <cabin> <heading>
        | (which | what) airlines fly <plane> [/2/ <heading>]
    """,
    "flight_or_number": "flight <number> | the <timetable_hour> flight <to>",
    "ask_abbreviation": """
        /4/ what does <abbreviated> (mean | stand for) | /2/ what is <abbreviated> [short for]
        | /2/ what's <abbreviated>
        | /2/ <wonder> what <abbreviated> (means | stands for)
        | (explain | define | spell out) <abbreviated> [for me]
        | what's the meaning of <abbreviated> | (and | what about | how about) <abbreviated>
        | i don't understand <abbreviated>
        | my ticket says <short_form> what (is that | does that mean)
        | it says <short_form> next to the fare what is that
        | (which | what) airline (is | has the code | uses the code) <carrier_code>
        | (which | what) (airport | city) (is | has the code) <code>
        | the <short_form> on my (ticket | itinerary | boarding pass | receipt) what does (it | that)
            (mean | stand for)
        | what does the (letter | class | code) <booking_class> mean on
            (the fare | my ticket | <airline>)
    """,
    "abbreviated": """
        /3/ <term> | /3/ <code>
        | /2/ the (abbreviation | code | letters) (<term> | <code> | <carrier_code>)
        | /2/ <short_form> | airport code <code> | /2/ (airline code | carrier code) <carrier_code>
    """,
    "short_form": "/2/ <term> | (fare basis | booking class | class | booking code) <booking_class>",
    "ask_aircraft": """
        /4/ (what | which) (kind | type | sort) of <airplane> (is | is used on | is used for | flies on)
            <this_flight>
        | /3/ what <airplane> (is | is used on | is used for | do they use on) <this_flight>
        | /2/ (what | which) (planes | aircraft | airplanes) does <airline> (fly | use | have) [/2/ <heading>]
        | is <this_flight> (on <plane> | a jet or a turboprop | a big plane | a wide body)
        | <show> the (aircraft | planes) used <heading> [<carrier>]
        | <wonder> what (kind | type) of <airplane> i'll be (on | flying on) <heading> [<day>]
        | (does <airline> | do they) (fly | use) <plane> <heading>
        | what (kind | type) of <airplane> is (that | it) | what's <plane>
        | does <airline> still (fly | have) <plane> | (what about | is it) <plane>
        | aircraft type for (<flight_name> | flight <number>)
        | which airplane goes <heading> <time>
    """,
    "airplane": "/2/ plane | /2/ aircraft | airplane",
    "ask_flight_time": """
        /4/ (what time | when) does <this_flight> (leave | depart | arrive | get in | land | take off | board)
        | /3/ how long (is | will i be on) <this_flight>
        | /3/ how long (is the flight | does it take to fly | does it take to get) <route>
        | /2/ <wonder> (when | what time) <this_flight> (leaves | departs | arrives | gets in | lands)
        | <show> the (departure times | arrival times | schedule | timetable) for (<airline> | the nonstop)
            flights <heading> [<day>]
        | <show> the (departure times | arrival times | flight times) for flights <heading>
        | what's the (flying time | flight time | travel time) (<route> | of <this_flight>
            | for <this_flight>)
        | what's the (arrival | departure) time (of | for) <this_flight>
        | what time (would i | do i | will i) (get to <city> | arrive)
            (on <flight_name> | if i leave <city> at <clock>)
        | what time do i (have to | need to) be at <airport_of> for <flight_name>
        | how long is the (layover | connection | stopover) in <city>
        | what time does (it | that one) (leave | arrive | get in)
        | how many hours (is it | is the flight) <route> | what's the schedule <route> <day>
        | (does | will) <this_flight> (arrive | leave) on time
    """,
    "ask_quantity": """
        /4/ how many flights (are there | do you have | leave | go) <heading> [<loose_day>] [/.3/ <carrier>]
        | /2/ how many flights does <airline> have <heading> [<loose_day>]
        | /2/ how many (airlines | carriers) (fly | go) <heading>
        | how many (cities | airports | countries) does <airline> (fly to | serve) [from <city>]
        | <wonder> how many flights <airline> has <heading>
        | how many (nonstop | direct | morning | evening) flights (are there | does <airline> have) <heading>
        | how many stops (does <this_flight> make | are there on <this_flight>)
        | how many airports are there in <city>
        | how many (fares | fare classes | cabins) does <airline> (have | offer) <heading>
        | how many of (those | these | them) are nonstop
        | how many <fleet> does <airline> (have | own | fly)
        | what's the number of [<airline>] flights <heading> [<day>]
        | how many times a (day | week) does <airline> fly <heading>
        | /.4/ how many
    """,
    "fleet": """
        /2/ planes | airplanes | jets | seven thirty sevens | dreamliners | a three twenties | turboprops
        | jumbo jets
    """,
}
"""Right-hand sides by rule name, in the notation of `adept.data.air_travel.grammar`."""
