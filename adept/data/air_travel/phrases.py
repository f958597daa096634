"""Phrases that questions of every intent share: courtesies, slips of the tongue, places, times, prices."""

from __future__ import annotations

PHRASES: dict[str, str] = {
    # How people start, stop, hesitate and change their mind.
    "opening": """
        /3/ uh | um | /2/ hi | hello | good morning | good afternoon | hi there | /3/ okay | /2/ yes | yeah
        | alright | well | so | /2/ now | excuse me | sorry | one more thing | also | great | okay so | hey
        | oh | thanks | okay thanks | right | wait | yes hello | perfect | hmm
        | good evening
    """,
    "closing": """
        /8/ please | /2/ thanks | thank you | /.5/ if you don't mind | /.4/ when you get a chance
        | /.5/ please thank you | /.3/ if that's possible | /.3/ by any chance
    """,
    "um": "[/.05/ (/3/ uh | /2/ um | er | let's see | you know | let me think)]",
    "oops": """
        no | no wait | /2/ i mean | sorry | no sorry | uh no | make that | or rather | actually | scratch that
        | /.5/ excuse me | wait no
    """,
    "show": """
        /9/ show me | /3/ give me | /3/ list | /4/ find me | /2/ can you show me | could you find me
        | i'd like to see | could you list | please show me | let me see | /.5/ would you pull up
        | i want to see | /3/ i'm looking for | please list | can you find me | could i see | can i see
        | /.3/ do me a favor and find me | /.3/ show uh show me | /.3/ can you can you find me | please find
        | look up | can you look up | /.5/ let's look at | /.5/ pull up
    """,
    "tell": """
        /3/ can you tell me | /2/ could you tell me | /2/ i'd like to know | tell me | /2/ do you know
        | i need to know | please tell me | i'm trying to find out | i want to know
        | /.5/ would you happen to know
    """,
    "wonder": "/8/ <tell> | i was wondering | any idea | can you check",
    "want_to": """
        /3/ i want to | /3/ i need to | /3/ i'd like to | i would like to | i have to | we'd like to
        | we need to | i'm hoping to | i'm planning to | /.5/ i want i need to | we're trying to | i've got to
        | i'm trying to | my wife and i want to | my <relative> wants to | my <relative> needs to
    """,
    # Places.
    "city": "/2/ <hub> | <other_city>",
    "from": """
        /40/ from <um> <city> | from <city> <oops> from <city> | from <city> <oops> <city>
        | /.5/ from from <city>
    """,
    "to": "/40/ to <um> <city> | to <city> <oops> to <city> | to <city> <oops> <city> | /.5/ to uh to <city>",
    "route": """
        /16/ <from> <to> | /3/ <to> <from> | /2/ between <city> and <city> | <from> into <city>
        | out of <city> to <city> | /.5/ from <airport> to <airport>
    """,
    "heading": "/9/ <route> | /2/ <to> | <from>",
    "at_airport": """
        /2/ at the airport in <city> | at <airport> | at the <city> airport | at <airport> airport
    """,
    "airport_of": "/2/ the airport in <city> | <airport> | the <city> airport | <airport> airport",
    # Days.
    "date": """
        /28/ <month> [the] <day_to_28> | /14/ the <day_to_28> of <month>
        | /3/ <month_of_30> [the] (twenty ninth | thirtieth)
        | /2/ <month_of_31> [the] (thirtieth | thirty first)
        | /.5/ <month> <day_to_28> <oops> the <day_to_28>
    """,
    "day": """
        /6/ on <weekday> | /2/ next <weekday> | this <weekday> | /2/ tomorrow | today | the day after tomorrow
        | /5/ on <date> | on <weekday> <date> | /.4/ on <weekday> <oops> <weekday>
        | /.4/ on <weekday> <oops> on <weekday> | a week from <weekday> | /.3/ the <weekday> before <holiday>
        | /.3/ the <weekday> after <holiday> | on <um> <weekday> | <weekday>
    """,
    "loose_day": """
        /12/ <day> | sometime next week | this weekend | next weekend | in early <month> | in late <month>
        | around <holiday> | the week of <date> | the (first | second | last) week of <month> | over <holiday>
        | in <month> | later this month
    """,
    "return_day": """
        /2/ on <weekday> | the following <weekday> | a week later | the next day | the same day
        | two days later | the week after | <several> days later
    """,
    # Times of day. Noon and midnight stand apart, because nobody says "noon p m".
    "clock": """
        /4/ <early_hour> [<minutes>] a m | /4/ <late_hour> [<minutes>] p m | <early_hour> in the morning
        | noon | <early_hour> o'clock | half past <late_hour> | quarter to <late_hour> | /.5/ midnight
        | (one | two | three | four | five) in the afternoon
        | (six | seven | eight | nine) (in the evening | at night)
        | /.4/ <late_hour> <oops> <late_hour> thirty p m
    """,
    "timetable_hour": """
        <early_hour> [<minutes>] a m | <late_hour> [<minutes>] p m | /.3/ noon | /.3/ <late_hour> o'clock
        | /.1/ midnight
    """,
    "part_of_day": """
        /4/ in the morning | /3/ in the afternoon | /3/ in the evening | early in the morning
        | late in the afternoon | around lunchtime | late at night | mid morning | first thing in the morning
    """,
    "time": """
        /4/ <part_of_day> | /3/ after <clock> | /3/ before <clock> | /2/ around <clock> | at <clock>
        | by <clock>
        | between (six and nine | seven and ten | eight and eleven) (in the morning | in the evening)
        | between (noon and two | one and four | two and five | three and six) in the afternoon
        | no later than <clock> | not before <clock>
    """,
    "when": """
        /8/ <loose_day> | /6/ <day> <time> | /2/ leaving <day> | /2/ leaving <day> <time>
        | /2/ <day> leaving <time>
        | /2/ <day> arriving (by | before | around) <clock>
        | <day> getting in (before | by) <clock> | departing <loose_day> | /2/ <time> | <part_of_day> <day>
    """,
    # Prices, tickets and travellers.
    "amount": """
        /4/ <hundreds> dollars | <hundreds> and fifty dollars | <hundreds> | <hundreds> bucks
        | <hundreds> euros
    """,
    "budget": """
        /2/ (under | below) <amount> | for less than <amount> | that (won't | doesn't) cost more than <amount>
        | with (a fare | fares) (under | below) <amount> | at the lowest fare
        | with a fare of <amount> or less | with the cheapest fare
    """,
    "trip": "/3/ round trip | /2/ one way",
    "party": """
        /2/ for <several> people
        | for two adults and (a child | <several> children | an infant | a baby)
        | for a family of <several> | for one adult | for me and my <relative> | for my <relative>
        | for a group of <teen> | for a senior citizen | for an unaccompanied minor | for three students
    """,
    # Airlines and flights.
    "carrier": """
        /6/ on <airline> | with <airline> | on <airline> or <airline> | on <airline> <oops> on <airline>
        | preferably on <airline> | /.5/ on any airline but <airline> | /.5/ on anyone except <airline>
    """,
    "stops": """
        /2/ nonstop | /2/ with one stop | with no stops | via <city>
        | with a (layover | connection | stopover | stop) in <city>
        | connecting in <city> | changing planes in <city> | without changing planes | direct
        | with a short layover
    """,
    "number": """
        /3/ <digit> <tens> | <digit> <teen> | <teen> oh <digit> | <digit> oh <digit> | <digit> <tens> <digit>
        | <tens> <teen>
    """,
    "flight_name": "<airline> flight <number> | flight <number> | <airline> <number>",
    "rival_airports": """
        kennedy or newark | laguardia or kennedy | heathrow or gatwick | midway or o'hare
        | dulles or reagan national | orly or charles de gaulle | haneda or narita | malpensa or linate
        | l a x or burbank | love field or d f w
    """,
    "vehicle": "/3/ <hired_vehicle> | /2/ <public_vehicle>",
    "this_flight": """
        /4/ <flight_name> | the <timetable_hour> flight <to> | the <weekday> flight <to>
        | the <airline> flight <to> | that flight | the flight <route> | the flight <route> <day>
        | the (first | last) flight <route>
    """,
    "plane": "a <aircraft> | an <an_aircraft>",
}
"""Right-hand sides by rule name, in the notation of `adept.data.air_travel.grammar`."""
