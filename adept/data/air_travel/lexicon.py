"""The word lists of the air-travel grammar: names, numbers and things that a traveller speaks of.

An entry is drawn at most once in an utterance. Names for one place or one company share an entry, parted by
``|``, so that nobody asks for a flight from Dallas to Fort Worth.
"""

from __future__ import annotations


def _entries(text: str) -> tuple[str, ...]:
    """Split a comma-separated list into entries with single spaces."""
    return tuple(" ".join(entry.split()) for entry in text.split(","))


WORD_LISTS: dict[str, tuple[str, ...]] = {
    # Two lists, so that the hubs are heard more often than the rest.
    "hub": _entries("""
        /3/ new york | new york city, boston, chicago, denver, atlanta, dallas | /.3/ fort worth,
        los angeles | /.3/ l a, /3/ san francisco | oakland | san jose, seattle, miami | fort lauderdale,
        /3/ washington | washington d c | baltimore, philadelphia, phoenix, houston, orlando,
        las vegas | /.3/ vegas, london, toronto
    """),
    "other_city": _entries("""
        albany, albuquerque, amsterdam, anchorage, athens, austin, bangkok, barcelona, berlin, bogota, boise,
        brussels, buenos aires, buffalo, burlington, calgary, cancun, charleston, charlotte, cincinnati,
        cleveland, columbus, copenhagen, des moines, detroit, dubai, dublin, edinburgh, el paso, frankfurt,
        geneva, halifax, hartford, helsinki, hong kong, honolulu, indianapolis, istanbul, jacksonville,
        kansas city, knoxville, lima, lisbon, little rock, louisville, madrid, manchester, manila, melbourne,
        memphis, mexico city, milan, milwaukee, minneapolis | saint paul, montreal, munich, nashville,
        new orleans, norfolk, oklahoma city, omaha, oslo, ottawa, paris, pittsburgh, portland, prague,
        providence, raleigh | durham, reno, reykjavik, richmond, rochester, rome, sacramento, saint louis,
        salt lake city, san antonio, san diego, san juan, santa fe, savannah, seoul, singapore, spokane,
        stockholm, sydney, syracuse, tampa, tokyo, tucson, tulsa, vancouver, vienna, warsaw, wichita, zurich
    """),
    "airport": _entries("""
        kennedy | j f k | laguardia | newark, logan, o'hare | midway, heathrow | gatwick | stansted,
        dulles | reagan national, love field | d f w, sky harbor, sea tac, hartsfield,
        l a x | burbank | long beach, charles de gaulle | orly, schiphol, haneda | narita, pearson, hobby,
        bradley, lambert field, harry reid, arlanda, changi, incheon, malpensa | linate, gardermoen, trudeau,
        barajas, fiumicino
    """),
    "airline": _entries("""
        /4/ american | american airlines, /4/ delta | delta airlines, /4/ united | united airlines, southwest,
        jetblue, /2/ alaska | alaska airlines, /2/ spirit | spirit airlines, frontier,
        hawaiian | hawaiian airlines, air canada, westjet, british airways, lufthansa, air france, k l m,
        iberia, emirates, qatar airways, turkish airlines, japan airlines, qantas, singapore airlines,
        aer lingus, icelandair, aeromexico, avianca, virgin atlantic, finnair, norwegian, allegiant,
        sun country, cathay pacific, korean air
    """),
    "aircraft": _entries("""
        boeing seven thirty seven | seven thirty seven, boeing seven forty seven | jumbo jet,
        boeing seven fifty seven, boeing seven sixty seven, triple seven,
        boeing seven eighty seven | dreamliner, d c nine, d c ten, dash eight, regional jet, turboprop,
        bombardier c r j, cessna caravan, saab three forty, fokker seventy, lockheed tristar,
        beechcraft nineteen hundred, gulfstream, learjet
    """),
    "an_aircraft": _entries("""
        airbus | airbus a three twenty, a three nineteen, a three thirty, a three fifty, a three eighty,
        a two twenty, a t r seventy two, embraer one ninety, embraer one forty five, m d eighty
    """),
    "weekday": _entries("monday, tuesday, wednesday, thursday, friday, saturday, sunday"),
    "month": _entries("""
        january, february, march, april, may, june, july, august, september, october, november, december
    """),
    "day_to_28": _entries("""
        first, second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth, eleventh, twelfth,
        thirteenth, fourteenth, fifteenth, sixteenth, seventeenth, eighteenth, nineteenth, twentieth,
        twenty first, twenty second, twenty third, twenty fourth, twenty fifth, twenty sixth, twenty seventh,
        twenty eighth
    """),
    "month_of_30": _entries("april, june, september, november"),
    "month_of_31": _entries("january, march, may, july, august, october, december"),
    "holiday": _entries("""
        christmas, thanksgiving, easter, labor day, memorial day, new year's, independence day, spring break,
        passover, valentine's day, halloween, mardi gras
    """),
    "early_hour": _entries("five, six, seven, eight, nine, ten, eleven"),
    "late_hour": _entries("one, two, three, four, five, six, seven, eight, nine, ten"),
    "minutes": _entries("""
        oh five, ten, fifteen, twenty, twenty five, thirty, thirty five, forty, forty five, fifty, fifty five
    """),
    "digit": _entries("one, two, three, four, five, six, seven, eight, nine"),
    "teen": _entries("""
        ten, eleven, twelve, thirteen, fourteen, fifteen, sixteen, seventeen, eighteen, nineteen
    """),
    "tens": _entries("twenty, thirty, forty, fifty, sixty, seventy, eighty, ninety"),
    "several": _entries("two, three, four, five, six"),
    "hundreds": _entries("""
        one hundred | a hundred, two hundred, three hundred, four hundred, five hundred, six hundred,
        seven hundred, eight hundred, nine hundred, a thousand | one thousand
    """),
    "meal": _entries("""
        /3/ breakfast | brunch, lunch, /3/ dinner | supper, a snack, a hot meal, a meal, a sandwich, coffee,
        wine, a drink
    """),
    "diet": _entries("""
        vegetarian, kosher, vegan, halal, gluten free, diabetic, low sodium, dairy free, lactose free, hindu,
        seafood, nut free
    """),
    "hired_vehicle": _entries("""
        taxi | cab, shuttle | shuttle bus, limousine | limo, rental car, minivan, town car, van, car service,
        coach, water taxi, helicopter transfer
    """),
    "public_vehicle": _entries("bus, train, subway, ferry, tram, streetcar, monorail"),
    "vehicles": _entries("""
        taxis | cabs, shuttles, limousines | limos, rental cars | cars, buses, trains, ferries, vans, trams,
        town cars, hotel shuttles, ride shares, airport coaches
    """),
    "rental_company": _entries("hertz, avis, budget, enterprise, sixt, alamo, thrifty"),
    "sight": _entries("""
        downtown, the convention center, my hotel, the city center, the university, the beach, the harbor,
        the stadium, the hospital, the train station, the old town, the theater district, the cruise terminal,
        the financial district, the fairgrounds, the medical center, the museum, campus
    """),
    "occasion": _entries("""
        wedding, meeting, conference, funeral, graduation, job interview, family reunion, trade show, concert,
        court hearing, board meeting, christening, training course, ski trip, workshop, golf tournament,
        marathon, doctor's appointment
    """),
    "relative": _entries("""
        sister, brother, mother, father, boss, wife, husband, daughter, son, aunt, uncle, grandmother,
        roommate, cousin, colleague, niece, nephew, fiance, professor, client
    """),
    "code": _entries("""
        ord, anc, hnl, msy, cun, sdf, cvg, iad, gva, lga, phx, pdx, slc, stl, pvr, tpa, rdu, cdg, ams, fra,
        muc, zrh, hnd, nrt, icn, syd, yvr, yul, bwi, sfo, jfk, mia, sea, dtw, msp, clt, iah, bos, lhr, bcn
    """),
    "carrier_code": _entries("""
        a a, d l, u a, w n, b six, n k, f nine, a c, b a, l h, a f, i b, e k, q f, h a, a s, t k, j l
    """),
    "booking_class": _entries("y, f, j, b, m, h, q, k, l, v, w, c, d, z"),
    "term": _entries("""
        pnr, eta, etd, apis, ssr, pax, iata, icao, lcc, umnr, wchr, avml, vgml, ksml, msct, irop, otp, faa,
        tsa, no show, open jaw, red eye, codeshare, stpc, rtw, gds, adt, chd, mct, nonref, oag, standby,
        interline, o w, r t, bulkhead, apex, deadhead, layover, e ticket
    """),
    "luggage": _entries("""
        skis, golf clubs, a stroller, a surfboard, a guitar, a bicycle, a wheelchair, a car seat, a cello,
        fishing rods, a snowboard, a small dog, my cat, a wedding dress, a tent, a backpack, a garment bag,
        a drone, baby formula, a camera tripod
    """),
    "change_of_plan": _entries("""
        change the date, cancel it, cancel, change the name, switch to an earlier flight, skip the return,
        postpone the trip, transfer it to my wife, break the journey, change it, miss the flight,
        don't show up
    """),
    "favor": _entries("""
        get a refund, use miles, upgrade at the gate, combine it with another discount, fly standby,
        book it the same day, earn miles, pick a seat, change the date, cancel, postpone the trip,
        transfer it to someone else, stop over on the way
    """),
    "cabin": _entries("first class, business class, economy | coach | economy class, premium economy"),
}
"""Entries by the name under which the grammar says them."""
