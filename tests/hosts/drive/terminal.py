"""A program in a terminal of its own, with a screen that can be read."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time

import pyte

ROWS, COLUMNS = 40, 140
# What programs ask a terminal, and what it answers: where the cursor is, what it can do, its colours.
ANSWERS = {
    b"\x1b[6n": b"\x1b[1;1R",
    b"\x1b[c": b"\x1b[?62c",
    b"\x1b]10;?": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
    b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\",
    b"\x1b[?u": b"\x1b[?0u",
}


class _Screen(pyte.Screen):
    """A screen that passes over the private forms of sequences, which pyte reads and cannot take."""

    def report_device_status(self, mode, **private):
        if not private:
            super().report_device_status(mode)

    def select_graphic_rendition(self, *attributes, **private):
        if not private:
            super().select_graphic_rendition(*attributes)


def until(condition, seconds):
    """Waits until the condition holds. Returns whether it did in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return bool(condition())


def heed_signals():
    """For a new process: what started the drive in the background has told it to ignore some of them."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _become_foreground():
    heed_signals()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def headless(command, folder, env):
    """Starts a program without a terminal."""
    return subprocess.Popen(
        command, cwd=folder, env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=heed_signals,
    )


class Terminal:
    def __init__(self, command, folder, env):
        self.display = _Screen(COLUMNS, ROWS)
        self.parser = pyte.ByteStream(self.display)
        self.lock = threading.Lock()
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            command, cwd=folder, env=env, stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True, preexec_fn=_become_foreground,
        )
        os.close(slave)
        self.open = True
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        while self.open:
            if not select.select([self.master], [], [], 0.05)[0]:
                continue
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            if not data:
                return
            self._answer(data)
            with self.lock:
                self.parser.feed(data)

    def _answer(self, data):
        for question, answer in ANSWERS.items():
            if question in data:
                os.write(self.master, answer)

    def screen(self):
        with self.lock:
            return "\n".join(line.rstrip() for line in self.display.display if line.strip())

    def wait_for(self, pattern, seconds=20):
        """Waits until the screen shows the pattern."""
        if not until(lambda: re.search(pattern, self.screen()), seconds):
            raise TimeoutError(f"the terminal does not show {pattern!r}:\n{self.screen()}")

    def send(self, text):
        os.write(self.master, text.encode())

    def enter(self, line):
        """Types a line. The pause keeps hosts from taking it for pasted text."""
        self.send(line)
        time.sleep(0.5)
        self.send("\r")

    def prompt(self, text, model):
        """Gives the host a prompt. A host that still starts may lose the key that ends it; some start for half a minute."""
        asked = len(model.requests)
        self.enter(text)
        for _ in range(20):
            if until(lambda: len(model.requests) > asked, 3):
                return
            self.send("\r")
        raise TimeoutError(f"the host does not take {text!r}:\n{self.screen()}")

    def signal(self, number):
        """Sends a signal to all processes of the program: some are two, and the first only waits for the second."""
        os.killpg(self.process.pid, number)

    def is_over(self, seconds=0.0):
        return until(lambda: self.process.poll() is not None, seconds)

    def close(self):
        """Closes the terminal, as a window is closed."""
        if self.open:
            self.open = False
            self.reader.join()
            os.close(self.master)

    def end(self):
        """Ends what is left."""
        self.close()
        if not self.is_over(0.2):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
