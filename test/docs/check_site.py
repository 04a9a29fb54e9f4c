#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the site from disk in a browser: its search finds a page, and nothing is loaded from elsewhere.

    check_site.py SITE

Without Chromium or python3-selenium it says so and ends with 0.
"""

import pathlib
import re
import shutil
import sys

SECONDS = 30


def main():
    site = pathlib.Path(sys.argv[1]).resolve()
    for page in site.rglob("*.html"):
        elsewhere = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?://[^"]*)',
                               page.read_text(encoding="utf-8"))
        if elsewhere:
            sys.exit(f"{page} loads {elsewhere[0]}")
    try:
        from selenium import webdriver  # pylint: disable=import-outside-toplevel
        from selenium.webdriver.support.ui import WebDriverWait  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("the search is not tested: python3-selenium is missing")
        return
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not browser or not driver:
        print("the search is not tested: Chromium is missing")
        return
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    service = __import__("selenium.webdriver.chrome.service", fromlist=["Service"]).Service(driver)
    chrome = webdriver.Chrome(service=service, options=options)
    try:
        chrome.get((site / "index.html").as_uri())
        chrome.execute_script("document.querySelector('[data-md-component=search-query]').focus()")
        chrome.switch_to.active_element.send_keys("RINGSIDE_MAX_BYTES")
        WebDriverWait(chrome, SECONDS).until(
            lambda chrome: chrome.find_elements(
                "css selector", ".md-search-result__link[href*='environment.html']"),
            "the search does not find the page of variables")
        print("the search finds a page")
    finally:
        chrome.quit()


if __name__ == "__main__":
    main()
