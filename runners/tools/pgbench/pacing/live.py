"""The rate of all processes of a load shape while they run: one line a second, on standard error, as pgbench prints it.

Each process reports to a file of its own, which `tail` follows; one started each second would cost the load CPUs.
The first process, which lasts for the whole run, has the clock: at each of its reports the newest of the others count.
"""

from __future__ import annotations

from collections.abc import Sequence

from .shape import Layer

FIFO = "layers.live"
LONGER_S = 60


def begin_commands(layers: Sequence[Layer]) -> str:
    """Return commands that begin to print the rate; the files layer_N.err are there from then on."""
    files = " ".join(f"layer_{number}.err" for number in range(len(layers)))
    zeros = " ".join(f"rate_{number}=0" for number in range(len(layers)))
    return f"""\
live_rates() {{
layer=0 {zeros}
while read -r word place _ tps _; do
    case $word:$place in
        '==>:layer_'*.err) layer=${{place#layer_}} layer=${{layer%.err}} ;;
        progress:*) tps=${{tps%.*}} second=${{place%.*}} ;;
        *) continue ;;
    esac
    case $layer in '' | *[!0-9]*) layer=0; continue ;; esac
    [ "$word" = progress: ] || continue
    case $tps in '' | *[!0-9]*) continue ;; esac
    case $second in '' | *[!0-9]*) continue ;; esac
    eval "rate_$layer=$tps"
    [ "$layer" != 0 ] || echo "progress: $place s, $(({_sum(layers)})).0 tps of all processes" >&2
done
}}
rm -f {FIFO} && mkfifo -m 600 {FIFO}
for file in {files}; do : > "$file"; done
live_rates < {FIFO} &
reader=$!
timeout --foreground {layers[0].duration_s + LONGER_S} tail -n +1 -f {files} > {FIFO} 2> /dev/null &
follower=$!
"""


def end_commands() -> str:
    """Return commands that end what `begin_commands` began."""
    return f'kill "$follower" 2> /dev/null\nwait "$reader"\nrm -f {FIFO}\n'


def _sum(layers: Sequence[Layer]) -> str:
    """Return the sum, as sh computes it, of the rates of those processes that are at work in that second."""
    spans = ((layer.start_s, layer.start_s + layer.duration_s) for layer in layers)
    terms = (
        f"rate_{number} * (second > {start_s} && second <= {end_s})" for number, (start_s, end_s) in enumerate(spans)
    )
    return " + ".join(terms)
