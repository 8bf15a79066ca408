"""Names of the experiments."""

NAMES = {
    "voice": "a call beside four bulk TCPs on 10 Mbit/s: FIFO, VirtualClock, the kernel's HTB, the simulator",
    "shaping": "a backlogged source at four rates: departures, gaps, the processor's time, HTB and TBF",
    "fairness": "a host that starts to send after another has uploaded alone: the gate, HTB, CAKE, a FIFO",
    "household": "two hosts that upload and a call beside them: the gate without a file, HTB, CAKE, a FIFO",
    "starvation": "what no flow of a file matches, beside a full line: the gate, HTB, CAKE, a FIFO",
    "reports": "a call beside 60,000 idle flows and four clients that scrape the metrics",
    "overload": "a call beside more frames than the gate's processor can forward",
    "flood": "a reserved call beside 200 hosts that send more than the gate's processor can forward, by `io`",
    "late": "a call on a processor that others keep busy: is the gate as late as it reports?",
    "gigabit": "ten TCPs on 1 Gbit/s: total, shares, the processor's time, HTB",
    "promise": "a call beside random floods at twice the line, against its bound: a kernel in virtual time",
    "reloads": "the same while the gate reloads 10,000 times: a kernel in virtual time",
    "plan": "a plan for one line beside random floods, against its certificate: a kernel in virtual time",
    "circuit": "a call beside its own household's transfers: the gate, HTB, CAKE; a kernel in virtual time",
    "allocated-capacity": "a paper's tables of RED and RIO with the kernel's TCP: a kernel in virtual time",
}
"""Experiments and their subjects."""
