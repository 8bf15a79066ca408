"""LibreQoS's files: `tidegate gate import` translates them, and a gate file names them."""

import subprocess
import sys

import pytest

import tidegate

HEADER = (
    "Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,"
    "Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment"
)
NETWORK = '{"AP_A": {"downloadBandwidthMbps": 100, "uploadBandwidthMbps": 50}}'
GOOD = (
    '1,"968 Circle St., Gurnee",1,Device 1,AP_A,,"100.64.0.1, 100.64.0.14",fdd7:b724:0:100::/56,5,1,155,20,'
)
TOO_MUCH = "2,x,2,Device 2,AP_A,,100.64.0.2,,400,1,400,20,"


@pytest.fixture
def translate(tmp_path):
    """Return a function that translates a list of these lines in an empty folder."""
    (tmp_path / "network.json").write_text(NETWORK, encoding="utf-8")

    def run(*lines: str, outside: str = "b", more: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        text = "\n".join([HEADER, *lines]) + "\n"
        (tmp_path / "ShapedDevices.csv").write_text(text, encoding="utf-8")
        line = f"--inside a --outside {outside} --up 1gbit --down 1gbit --out isp"
        files = ["ShapedDevices.csv", "network.json"]
        command = [sys.executable, "-m", "tidegate", "gate", "import", *files, *line.split(), *more]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


def written(folder):
    return sorted(path.name for path in folder.glob("isp/*"))


def test_a_list_becomes_a_gate_that_can_run(translate, tmp_path):
    done = translate(GOOD)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "1 circuit and 1 class\nisp/gate.toml\nisp/circuits.csv\n"
    assert written(tmp_path) == ["circuits.csv", "gate.toml"]
    command = [sys.executable, "-m", "tidegate", "gate", "check", "isp/gate.toml"]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert "a -> b at 1gbit" in checked.stdout


def test_what_would_be_lost_is_said_and_nothing_is_written(translate, tmp_path):
    done = translate(GOOD, TOO_MUCH)
    assert done.returncode == 1
    assert (
        "the least rates of the circuits in `AP_A` add up to 405mbit down, and there is room for 100mbit"
        in done.stderr
    )
    assert "nothing was written: 1 thing is not as in the files that were read" in done.stderr
    assert written(tmp_path) == []
    accepted = translate(GOOD, TOO_MUCH, more=("--accept-losses",))
    assert accepted.returncode == 0
    assert "405mbit" in accepted.stderr
    assert written(tmp_path) == ["circuits.csv", "gate.toml"]
    first, second, third, *_ = (tmp_path / "isp" / "gate.toml").read_text(encoding="utf-8").splitlines()
    assert first == "# Accepted, although it is not as in the files that were read:"
    assert second.startswith(("#   ShapedDevices.csv", "#   network.json")), second
    assert "add up to 405mbit down" in second
    assert third.startswith("# Made from LibreQoS's files")


def test_an_earlier_import_stays_unless_it_is_to_be_replaced(translate, tmp_path):
    assert translate(GOOD).returncode == 0
    before = (tmp_path / "isp" / "gate.toml").read_text(encoding="utf-8")
    refused = translate(GOOD.replace("AP_A", ""))
    assert refused.returncode == 1
    assert "isp/gate.toml is there already" in refused.stderr
    assert (tmp_path / "isp" / "gate.toml").read_text(encoding="utf-8") == before
    assert translate(GOOD.replace("AP_A", ""), more=("--force",)).returncode == 0
    assert "1,,100.64.0.1/32" in (tmp_path / "isp" / "circuits.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            GOOD.replace("100.64.0.14", "100.64.0.300"),
            "`100.64.0.300` is neither an address nor",
        ),
        (GOOD.replace("AP_A", "AP_B"), "did you mean `AP_A`?"),
        (GOOD + ",", "this line has 14 fields, and the first has 13"),
    ],
)
def test_a_mistake_is_shown_with_its_line(translate, tmp_path, line, message):
    done = translate(line)
    assert done.returncode == 1
    assert done.stderr.startswith("ShapedDevices.csv:2:"), done.stderr
    assert message in done.stderr
    assert written(tmp_path) == []


def test_a_line_that_no_gate_can_have_leaves_no_folder(translate, tmp_path):
    refused = translate(GOOD, outside="a")
    assert refused.returncode == 1
    assert "`inside` and `outside` are both a" in refused.stderr
    assert not (tmp_path / "isp").exists()


def test_a_missing_file_is_named(translate, tmp_path):
    (tmp_path / "network.json").unlink()
    done = translate(GOOD)
    assert done.returncode == 1
    assert "network.json: cannot be read: No such file or directory" in done.stderr


# Read as they are


@pytest.fixture
def direct(tmp_path):
    """Return a function that checks a gate file that names LibreQoS's files with these lines."""
    (tmp_path / "network.json").write_text(NETWORK, encoding="utf-8")

    def run(*lines: str, more: str = "") -> subprocess.CompletedProcess[str]:
        text = "\n".join([HEADER, *lines]) + "\n"
        (tmp_path / "ShapedDevices.csv").write_text(text, encoding="utf-8")
        (tmp_path / "direct.toml").write_text(
            'version = 1\ngate = { inside = "a", outside = "b", up = "1gbit", down = "1gbit" }\n'
            '[[flow]]\nname = "circuits"\ncircuits = "ShapedDevices.csv"\nnetwork = "network.json"\n'
            f'{more}\n[[flow]]\nname = "others"\n',
            encoding="utf-8",
        )
        command = [sys.executable, "-m", "tidegate", "gate", "check", "direct.toml"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


def test_a_gate_file_names_them_and_check_adds_up(direct):
    checked = direct(GOOD)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "circuits: 1 circuit in 1 class\n" in checked.stdout
    assert "AP_A             down 1 circuit: 5mbit of 1gbit reserved" in checked.stdout


def test_what_would_be_lost_is_refused_or_warned_of(direct):
    refused = direct(GOOD, TOO_MUCH)
    assert refused.returncode == 1
    assert "direct.toml:5:12: 1 thing is not as in LibreQoS's files" in refused.stderr
    assert "add up to 405mbit down, and there is room for 100mbit" in refused.stderr
    accepted = direct(GOOD, TOO_MUCH, more="accept_losses = true")
    assert accepted.returncode == 0
    assert "warning: ShapedDevices.csv: the least rates of the circuits in `AP_A`" in accepted.stdout


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('[[class]]\nname = "AP_A"', "direct.toml:6:11: there is already a class `AP_A`"),
        ("accept_losses = 1", "`accept_losses` takes true or false"),
    ],
)
def test_a_gate_file_that_does_not_fit_them_is_refused(direct, more, message):
    refused = direct(GOOD, more=more)
    assert refused.returncode == 1
    assert message in refused.stderr, refused.stderr


def test_a_mistake_is_shown_with_its_line_when_read_directly(direct, tmp_path):
    for line, message in [
        (GOOD.replace("AP_A", "AP_B"), "did you mean `AP_A`?"),
        (GOOD + ",", "this line has 14 fields, and the first has 13"),
    ]:
        refused = direct(line)
        assert refused.returncode == 1
        assert refused.stderr.startswith("ShapedDevices.csv:2:"), refused.stderr
        assert message in refused.stderr
    (tmp_path / "network.json").write_text("{", encoding="utf-8")
    assert direct(GOOD).stderr.startswith("network.json:1:")


def test_the_simulator_has_the_gate_that_import_makes(translate, direct, tmp_path):
    assert translate(GOOD).returncode == 0
    assert direct(GOOD).returncode == 0
    outcomes = []
    for file in ("isp/gate.toml", "direct.toml"):
        text = (
            f'version = 1\nduration = "2s"\ntopology = {{ kind = "gate", file = "{file}" }}\n'
            '[[flow]]\nname = "x"\nfrom = "inside"\nto = "outside"\nsize = "1514B"\ncount = 3\n'
            'headers = { flow = "100.64.0.1:5004>192.0.2.1:5060/udp", each = "5-tuple" }\n'
            'source = { kind = "poisson", rate = "9mbit" }\n'
        )
        (tmp_path / "scenario.toml").write_text(text, encoding="utf-8")
        outcomes.append(tidegate.simulate(tidegate.load(tmp_path / "scenario.toml")))
    assert outcomes[0].fingerprints == outcomes[1].fingerprints
    [group] = outcomes[0].groups()
    # 27 Mbit/s are offered, and the circuit has 20.
    assert 19e6 < group.throughput.mean < 20.1e6
