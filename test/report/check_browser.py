#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the page of `ringside report` in Chromium: what is drawn, sort, filter, download, keyboard,
themes, narrow screens, paper; no error, no request, and nothing that a trace names is run.

usage: check_browser.py RINGSIDE_GENERATE RINGSIDE
Exit status 77: there is no Chromium, no driver or no Selenium for Python.
"""
import base64
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "diff"))
import report_inputs  # noqa: E402

SKIPPED = 77
SYSTEM_PYTHON = "/usr/bin/python3"


def load_selenium():
    try:
        from selenium import webdriver  # pylint: disable=import-outside-toplevel
        return webdriver
    except ImportError:
        # The distribution's package is for the distribution's interpreter.
        if os.path.exists(SYSTEM_PYTHON) and "RINGSIDE_AGAIN" not in os.environ:
            os.environ["RINGSIDE_AGAIN"] = "1"
            os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
        print("skipped: python3-selenium is missing")
        sys.exit(SKIPPED)


def start(webdriver, profile):
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if not browser or not driver:
        print("skipped: chromium or chromium-driver is missing")
        sys.exit(SKIPPED)
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--window-size=1200,900", f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = __import__("selenium.webdriver.chrome.service", fromlist=["Service"]).Service(driver)
    return webdriver.Chrome(service=service, options=options)


class Page:
    def __init__(self, driver, path):
        self.driver = driver
        driver.get(path.as_uri())

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def column(self, table, index):
        return self.run("return [...document.querySelectorAll(`table[data-table='${arguments[0]}'] tbody tr`)]"
                        ".map((row) => row.cells[arguments[1]].textContent)", table, index)

    def click(self, selector, index=0):
        self.run("document.querySelectorAll(arguments[0])[arguments[1]].click()", selector, index)

    def press(self, key, code=0, text=None):
        for kind in ("keyDown", "keyUp"):
            event = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
            if text and kind == "keyDown":
                event["text"] = text
            self.driver.execute_cdp_cmd("Input.dispatchKeyEvent", event)

    def set_media(self, media="", scheme="light"):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def background(self):
        return self.run("return getComputedStyle(document.body).backgroundColor")

    def focus_by_tab(self, selector, most=60):
        """Goes there with the tab key alone."""
        for _ in range(most):
            self.press("Tab", 9)
            if self.run("return document.activeElement.matches(arguments[0])", selector):
                return
        raise AssertionError(f"the tab key does not reach {selector}")


def check_drawn(page):
    assert "rank 5" in page.text("h1").lower().replace("\u00a0", " "), page.text("h1")
    assert page.text("#status").endswith("Something is wrong")
    assert page.run("return document.querySelector('#sections section').id") == "late"
    top = page.run("return document.querySelector('#late svg').getBoundingClientRect().top")
    assert top < 900, f"the late rank is drawn {top} px below the top"
    assert page.run("return document.querySelector('#late svg text.strong').textContent").startswith("rank 5")
    for section in ("late", "time", "bandwidth", "network"):
        assert page.count(f"#{section} svg.chart .mark") > 0, section
    lost = page.run("return [...document.querySelectorAll('a[href^=\"#\"]')].map((a) => a.getAttribute('href').slice(1))"
                    ".filter((id) => !document.getElementById(id))")
    assert not lost, f"links that lead nowhere: {lost}"


def check_table(page):
    heads = page.run("return [...document.querySelectorAll(\"table[data-table='stragglers_ranks'] th button\")]"
                     ".map((button) => button.textContent)")
    pid = heads.index("pid")
    button = f"table[data-table='stragglers_ranks'] th:nth-child({pid + 1}) button"
    page.click(button)
    down = page.column("stragglers_ranks", pid)
    page.click(button)
    up = page.column("stragglers_ranks", pid)
    assert len(up) == 12 and down == up[::-1] and up == sorted(up), (up, down)
    assert page.run("return document.querySelector(arguments[0]).parentNode.getAttribute('aria-sort')", button) == "ascending"
    page.run("const input = document.querySelector('#late input[type=search]'); input.value = 'RANK 1';"
             "input.dispatchEvent(new Event('input'))")
    assert sorted(page.column("stragglers_ranks", 0)) == ["rank 1", "rank 10", "rank 11"]


CONTRAST = """
const channel = (value) => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
const parts = (colour) => colour.match(/[0-9.]+/g).map(Number);
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
function behind(one) {
  for (; one; one = one.parentElement) {
    const colour = parts(getComputedStyle(one).backgroundColor);
    if (colour.length === 3 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
}
const found = new Map();
for (const one of document.querySelectorAll('body *')) {
  const text = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!text || !one.getClientRects().length || one.matches('script, style, option')) continue;
  const style = getComputedStyle(one);
  const [ink, paper] = [parts(one.closest('svg') ? style.fill : style.color), behind(one)].map(luminance);
  const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  if (ratio < 4.5) found.set(`${one.tagName}.${one.getAttribute('class')}`, ratio);
}
return [...found];
"""


def check_contrast(page):
    for scheme in ("light", "dark"):
        page.set_media(scheme=scheme)
        assert page.run(CONTRAST) == [], scheme
    page.set_media()


def check_one_rank(page):
    """A click on a rank opens its rows of all tables; the address brings them back."""
    page.driver.refresh()
    assert set(page.column("one-rank_shares", 0)) == {"rank 5"}, "the worst rank is there at first"
    page.run("[...document.querySelectorAll(\"table[data-table='shares'] td a\")]"
             ".find((link) => link.textContent === 'rank 11').click()")
    time.sleep(0.1)
    assert "one-rank.of=rank%2011" in page.run("return location.hash"), page.run("return location.hash")
    page.driver.refresh()
    for table in ("one-rank_shares", "one-rank_stragglers_ranks", "one-rank_critical-path_ranks"):
        assert page.column(table, 0) == ["rank 11"], table
    assert page.count("table[data-table='one-rank_network_links'] tbody tr") > 0
    page.run("location.hash = ''")


def check_help(page):
    """Titles of columns explain themselves, what does not fit says so, and what is empty is a line."""
    title = page.run("return document.querySelector(\"table[data-table='shares'] a.def\").title")
    assert "Every moment of a rank" in title, title
    seen = "return getComputedStyle(document.querySelector('#late .bar .sideways')).display !== 'none'"
    assert not page.run(seen)
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True})
    time.sleep(0.3)
    assert page.run(seen)
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert page.run("return [...document.querySelectorAll('#sections section.words')].map((one) => one.id)") == \
        ["topology", "stuck", "mismatches"], page.run("return document.getElementById('sections').lastElementChild.id")


def check_address(page, path):
    """The address has what is chosen, and an address brings it back; all has an id to link to."""
    page.driver.get(f"{path.as_uri()}#time&shares.sort=-waiting_ns&shares.filter=%22rank%201%22")
    page.driver.refresh()  # another hash alone loads nothing anew in all browsers
    assert page.column("shares", 0) == ["rank 1"], "in quotes, a whole cell"
    assert page.run("return document.querySelector('#time input[type=search]').value") == '"rank 1"'
    assert page.count("table[data-table='shares'] th[aria-sort='descending']") == 1
    page.run("const input = document.querySelector('#time input[type=search]'); input.value = '';"
             "input.dispatchEvent(new Event('input'))")
    page.click("table[data-table='shares'] th:nth-child(2) button")
    assert page.run("return location.hash") == "#time&shares.sort=host"
    hosts = page.column("shares", 1)
    assert len(hosts) == 12 and hosts == sorted(hosts)
    top = page.run("return document.getElementById('time').getBoundingClientRect().top")
    assert abs(top) < 40, top
    without = page.run("return [...document.querySelectorAll('table')].filter((table) => "
                       "!document.getElementById(`table-${table.dataset.table}`)).length")
    assert without == 0 and page.count("#findings li") == page.count("#findings li[id^='finding-']") > 0


def check_commands(page, ringside, directory):
    """The commands of the page run, and show just that part."""
    page.run("const cell = document.querySelectorAll('#late rect.mark')[20];"
             "cell.dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    commands = page.run("return [...document.querySelectorAll('.command code')].map((code) => code.textContent)")
    assert len(commands) == 3 and all(one.startswith("ringside ") for one in commands), commands
    for command in commands:
        done = subprocess.run([ringside, *command.split()[1:]], cwd=directory, check=False, capture_output=True,
                              text=True, timeout=60)
        assert done.returncode in (0, 1), done.stderr
    assert "20 operations" in done.stderr or "--top-slowest" not in command
    assert "--from" in commands[-1], commands
    assert " 3 operations" in done.stderr, done.stderr  # of one iteration
    assert "others waited" in page.run(
        "document.querySelector('#late rect.mark').dispatchEvent(new PointerEvent('pointerenter'));"
        "return document.getElementById('tip').textContent")


def check_charts(page):
    assert page.count("#iterations svg.chart .mark") == 39, "the last iteration has no known end"
    assert page.count("table[data-table='critical-path_ranks'] tbody tr") > 0
    assert page.count("#bandwidth svg.chart .axis:nth-of-type(1) .tick") >= 2
    assert page.count("#bandwidth svg.chart .axis:nth-of-type(2) .tick") >= 2


def check_download(page, directory):
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(directory)})
    buttons = page.run("return [...document.querySelectorAll('button.csv')].map((button) => button.dataset.csv)")
    assert {"waits", "shares", "bandwidth", "network", "stragglers_ranks"} <= set(buttons), buttons
    page.click("button.csv[data-csv='shares']")
    target = directory / "shares.csv"
    for _ in range(100):
        if target.exists() and not list(directory.glob("*.crdownload")):
            break
        time.sleep(0.05)
    with open(target, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    table = json.loads(page.text("#data"))["tables"]["shares"]
    assert [list(row.values()) for row in rows] == [["" if v is None else str(v) for v in row] for row in table["rows"]]
    assert len(rows) == 12


def check_keyboard(page):
    page.run("window.scrollTo(0, 0); document.activeElement.blur()")
    page.focus_by_tab("#theme")
    light = page.background()
    for _ in range(2):
        page.press("Enter", 13, "\r")
    assert page.text("#theme") == "Theme: dark" and page.background() != light
    page.press("Enter", 13, "\r")
    page.focus_by_tab("#late svg")
    page.press("ArrowRight", 39)
    page.press("ArrowRight", 39)
    tip = page.text("#tip")
    assert "others waited" in tip and "iteration" in tip, tip
    assert page.count("#late .mark.active") == 1
    page.press("Escape", 27)
    assert page.run("return document.getElementById('tip').hidden")
    page.focus_by_tab("table[data-table='stragglers_ranks'] th button")
    page.press("Enter", 13, "\r")
    assert page.count("table[data-table='stragglers_ranks'] th[aria-sort]") == 1


def check_media(page):
    page.set_media(scheme="dark")
    assert page.background() == "rgb(20, 22, 26)"
    page.set_media("print", "dark")
    assert page.background() == "rgb(255, 255, 255)", "ink on dark paper"
    assert page.run("return getComputedStyle(document.getElementById('theme')).display") == "none"
    # Buttons are not painted where a page repeats the head of a table.
    assert page.run("return getComputedStyle(document.querySelector(\"table[data-table='stragglers_ranks'] "
                    "th\"), '::before').content") == '"rank"'
    assert page.run("return getComputedStyle(document.querySelector('th button')).display") == "none"
    paper = base64.b64decode(page.driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert paper.startswith(b"%PDF") and len(paper) > 10_000
    page.set_media()
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True})
    time.sleep(0.3)
    assert page.run("return document.documentElement.scrollWidth") <= 390, "the page is wider than a phone"
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def check_hostile(page):
    assert report_inputs.HOSTILE in page.run("return document.body.innerText")
    assert page.count("script") == 4, "a trace has brought a script"
    assert page.count("td b, td i, td u, h1 b, p b") == 0
    assert "<b>node</b>" in page.text("h1")


def check_guard(page):
    """The data of one section are spoilt: it says so, the others are drawn."""
    failed = page.run("return [...document.querySelectorAll('.failed')].map((p) => [p.parentNode.id, p.textContent])")
    assert [place for place, _ in failed] == ["late"], failed
    assert all(text.startswith("This part of the page could not be drawn: ") for _, text in failed), failed
    for section in ("time", "bandwidth", "network"):
        assert page.count(f"#{section} svg.chart .mark") > 0, section
    assert page.count("#completeness table") == 2 and page.text("#made").startswith("Made by ringside")


# By story of `ringside demo`: the rank that the headline names, and how a timeline shows its finding.
DEMOS = {"hang": (5, "--around "), "mismatch": (5, "--around "), "slow-link": (3, "--top-slowest ")}


def check_demo(page, story, ringside, directory):
    """The page begins with what the headline is about, and its commands run one after the other."""
    rank, part = DEMOS[story]
    data = json.loads(page.text("#data"))
    assert data["health"]["findings"][0]["ranks"] == [rank], data["health"]["findings"][0]
    assert set(page.column("one-rank_shares", 0)) == {f"rank {rank}"}, story
    assert [row[0] for row in data["tables"]["shares"]["rows"]] == list(range(8))
    timelines = [one["timeline"] for one in data["health"]["findings"] if "timeline" in one]
    assert timelines and all(part in one for one in timelines if "--around" not in one), timelines
    for command in timelines:
        subprocess.run([ringside, *command.split()[1:]], cwd=directory, check=True, stderr=subprocess.DEVNULL, timeout=60)
    assert page.column("iterations_iterations", 2)[0] == "0.000000", "the first begins at 0"
    ticks = page.run("return [...document.querySelectorAll('#bandwidth svg .axis:first-of-type .tick')].map((one) => one.textContent)")
    assert len(set(ticks)) == len(ticks) and float(max(ticks, key=float)) > 1.2 * float(min(ticks, key=float)), ticks
    if story == "hang":
        assert page.column("hang_stuck", 2) == ["not joined"]
        assert (page.column("hang_stuck", 4), page.column("hang_stuck", 5)) == (["0-4, 6, 7"], ["5"])
        assert "dumps of running processes" in page.text("#completeness")
    lost = page.run("return [...document.querySelectorAll('th')].filter((one) => one.querySelector('.def'))"
                    ".map((one) => `${one.closest('table').dataset.table} ${one.dataset.title}`)")
    assert not {"hang_ranks at", "communicators_communicators operations", "iterations_iterations operations",
                "critical-path_ranks transfer"} & set(lost), lost
    page.driver.set_window_size(1280, 900)
    time.sleep(0.3)
    wide = page.run("return [...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth)"
                    ".map((one) => one.querySelector('table').dataset.table)")
    assert not wide, wide
    hidden = "return [...document.querySelectorAll(\"table[data-table='bandwidth'] th\")].filter((one) => one.hidden).length"
    assert page.run(hidden) > 0
    page.click("#bandwidth button.columns")
    assert page.run(hidden) == 0, "the button shows all"


def check_quiet(driver, path):
    """No error, no dialog, and of all that was loaded only the page itself."""
    assert driver.get_log("browser") == []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        assert message["method"] != "Page.javascriptDialogOpening", message
        if message["method"] == "Network.requestWillBeSent":
            address = message["params"]["request"]["url"]
            assert address.split("#")[0] == path.as_uri() or address.startswith(("blob:", "data:", "about:", "chrome:")), address


def report(ringside, page, *traces):
    subprocess.run([ringside, "report", "-o", page, *traces], check=True, stderr=subprocess.DEVNULL, timeout=60)
    return page


def main():
    webdriver = load_selenium()
    generate, ringside = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        driver = start(webdriver, directory / "profile")
        try:
            subprocess.run([generate, directory / "job", "--hosts", "3", "--ranks-per-host", "4", "--steps",
                            "--iterations", "40", "--straggler", "5:600:12", "--pattern",
                            "AllReduce:4096,AllGather:65536,AllReduce:1048576"],
                           check=True, stdout=subprocess.DEVNULL, timeout=60)
            late = report(ringside, directory / "late.html", directory / "job")
            page = Page(driver, late)
            for check in (check_drawn, check_table, check_keyboard, check_media):
                check(page)
            check_charts(page)
            check_contrast(page)
            check_one_rank(page)
            check_help(page)
            check_commands(page, ringside, directory)
            check_download(page, directory)
            check_address(page, late)
            check_quiet(driver, late)
            subprocess.run([generate, directory / "other", "--seed", "2", "--ranks-per-host", "4", "--iterations", "40",
                            "--pattern", "AllReduce:4096"], check=True, stdout=subprocess.DEVNULL, timeout=60)
            runs = Page(driver, report(ringside, directory / "runs.html", directory / "job", directory / "other"))
            assert runs.count("#sections section") == 1 and runs.count("#runs table") == 3
            assert runs.column("runs", 0) == ["1", "2"] and runs.count(".failed") == 0
            check_contrast(runs)
            spoilt = directory / "spoilt.html"
            text = late.read_text(encoding="utf-8")
            assert text.count('"wait_maps": ') == 1
            spoilt.write_text(text.replace('"wait_maps": ', '"no_maps": '), encoding="utf-8")
            check_guard(Page(driver, spoilt))
            for log in ("browser", "performance"):
                driver.get_log(log)  # they tell of it
            for path, text in report_inputs.hostile(operations=30).items():
                (directory / "traces").mkdir(exist_ok=True)
                (directory / path).write_text(text, encoding="utf-8")
            tests = pathlib.Path(__file__).resolve().parents[1]
            with_peaks = report(ringside, directory / "peaks.html", "--baseline", tests / "data/nccl_tests",
                                tests / "diff/cases/summary-csv/traces")
            peaks = Page(driver, with_peaks)
            # A peak of each function, as the dashed line and as percent: 10.24 GB/s is that of 4 MiB.
            assert peaks.count("#bandwidth path.peak") == 3 and "Dashed" in peaks.text("#bandwidth .lead")
            assert peaks.column("bandwidth", 15) == ["97.7", "97.5", "101.9", "–", "–", "98.8"], peaks.column("bandwidth", 15)
            assert "101.9 %" in peaks.text("#figures")
            check_quiet(driver, with_peaks)
            for story in DEMOS:
                subprocess.run([ringside, "demo", "-q", "-o", directory / story, story], check=True,
                               stdout=subprocess.DEVNULL, timeout=60)
                check_demo(Page(driver, directory / story / "report.html"), story, ringside, directory / story)
                check_quiet(driver, directory / story / "report.html")
            hostile = report(ringside, directory / "hostile.html", directory / "traces")
            check_hostile(Page(driver, hostile))
            check_quiet(driver, hostile)
        finally:
            driver.quit()
    print("the page works")


if __name__ == "__main__":
    main()
