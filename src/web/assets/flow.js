// Keeps a page of the dashboard alive: shows the token, listens to the feed, and puts newer parts in their places.
//
// Every page is made by the server. When the feed says that something changed, the page is asked for again, and parts
// with the same `data-key` are replaced where they differ. Text becomes markup in one place, `parsed`, which has the only
// Trusted Types policy.

const [KEY, LIST, CAME] = ['flow.token', 'flow.list', 'flow.came'];
const RUN = /^\/([^/]+)\/runs\/([^/]+)$/;
const main = document.querySelector('main');
const live = document.querySelector('#live');
const policy = window.trustedTypes?.createPolicy('flow', { createHTML: (text) => text });

const parsed = (text) => new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, 'text/html');

// ---- the token: in the address once, afterwards in this browser's store for this origin

function token() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given) {
    localStorage.setItem(KEY, given);
    history.replaceState(null, '', location.pathname + location.search);
  }
  return localStorage.getItem(KEY);
}

let secret = token();

function take(given) {
  if (!given || given === secret) return;
  secret = given;
  refresh();
  connect();
}

window.addEventListener('hashchange', () => location.hash.includes('token=') && take(token()));
// Another tab was given a newer token.
window.addEventListener('storage', (event) => event.key === KEY && take(event.newValue));

function say(text) {
  const place = document.querySelector('#state') ?? main;
  place.textContent = text;
}

// ---- putting newer parts in place

// Makes `old` like `fresh` and keeps elements with the same key or the same place, so that focus and scrolling survive.
function place(old, fresh) {
  if (old.isEqualNode(fresh)) return old;
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || keyOf(old) !== keyOf(fresh)) {
    const imported = document.importNode(fresh, true);
    old.replaceWith(imported);
    return imported;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.nodeValue = fresh.nodeValue;
    return old;
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !kept(old, name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !kept(old, name)) old.setAttribute(name, value);
  }
  if (old instanceof HTMLInputElement && document.activeElement !== old) old.value = fresh.getAttribute('value') ?? '';
  placeChildren(old, fresh);
  return old;
}

const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? (node.dataset?.key ?? node.id) : '');
// What the reader did to an element is not undone.
const kept = (element, name) =>
  (name === 'open' && element.nodeName === 'DETAILS') ||
  (name === 'src' && element.nodeName === 'IMG') ||
  (name === 'class' && element.classList.contains('chosen'));

function placeChildren(old, fresh) {
  const keyed = new Map([...old.children].filter(keyOf).map((child) => [keyOf(child), child]));
  let next = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const known = keyOf(wanted) ? keyed.get(keyOf(wanted)) : next && !keyOf(next) ? next : null;
    if (known) {
      if (known === next) next = next.nextSibling;
      else old.insertBefore(known, next);
      keyed.delete(keyOf(wanted));
      const placed = place(known, wanted);
      next = placed.nextSibling;
    } else {
      old.insertBefore(document.importNode(wanted, true), next);
    }
  }
  while (next) {
    const gone = next;
    next = next.nextSibling;
    gone.remove();
  }
}

// ---- times: the server says them in UTC, a page in the time of its reader

const FORMS = {
  time: { hour: '2-digit', minute: '2-digit' },
  second: { hour: '2-digit', minute: '2-digit', second: '2-digit' },
};

function localised(root) {
  for (const place of root.querySelectorAll('[data-clock]')) {
    const at = new Date(place.dataset.at ?? place.getAttribute('datetime'));
    const day = at.toLocaleDateString('en-GB', { weekday: 'short', day: 'numeric', month: 'short' }).replace(',', '');
    const time = at.toLocaleTimeString('en-GB', FORMS[place.dataset.clock] ?? FORMS.time);
    place.textContent = place.dataset.clock === 'time' ? time : `${day} ${time}`;
  }
  for (const place of root.querySelectorAll('[data-zone]')) place.textContent = 'your time';
  return root;
}

// ---- asking for the page

// The request for the page that is under way, and whether it is too old already.
let [asking, again] = [null, false];
// A page that waits to be shown, and how far this one knows the feed.
let [held, since] = [null, null];

// Ends when a page is shown that was asked for after this call.
async function refresh() {
  if (!secret) return say('This page needs the token. Open the address that `flow serve` printed.');
  again = asking !== null;
  asking ??= renew();
  await asking;
}

async function renew() {
  do {
    again = false;
    try {
      const asked = location.pathname + location.search;
      const answer = await fetch(asked, { headers: { Authorization: `Bearer ${secret}` } });
      if (answer.status === 401) {
        refused();
      } else {
        since = answer.headers.get('Flow-Since') ?? since;
        const fresh = localised(parsed(await answer.text()));
        // The reader typed or pressed a key meanwhile, which asks again: this answer is no longer wanted.
        if (!typing && asked === location.pathname + location.search) show(fresh);
      }
    } catch {
      status(false);
    }
  } while (again && secret);
  asking = null;
}

// The token was refused. Another tab may have a newer one.
function refused() {
  const stored = localStorage.getItem(KEY);
  if (stored && stored !== secret) return take(stored);
  localStorage.removeItem(KEY);
  secret = null;
  document.title = 'flow';
  say('The token of this page is no longer valid. Open the address that `flow serve` printed.');
}

function show(fresh) {
  const isFirst = document.querySelector('#state');
  document.title = fresh.title;
  const order = (root) => [...root.querySelectorAll('.row')].map(keyOf).join();
  // Rows never move under the pointer or the keyboard.
  const busy = main.querySelector('.rows:hover') || main.querySelector('.rows')?.contains(document.activeElement) || main.querySelector('.rows .chosen');
  if (busy && order(main) !== order(fresh.querySelector('main'))) {
    held = fresh;
    placeInOrder(fresh);
    offer();
    return;
  }
  held = null;
  if (location.pathname === '/') sessionStorage.setItem(LIST, location.search);
  document.querySelector('#changes')?.remove();
  place(main, fresh.querySelector('main'));
  if (isFirst && location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  const [header, navigation] = [document, fresh].map((page) => page.querySelector('header nav'));
  if (header && navigation) place(header, navigation);
  main.querySelectorAll('img[data-src]:not([src])').forEach(load);
  if (isFirst && location.pathname === '/') comeBack();
}

// The row of the run whose page was left with Escape is chosen again.
function comeBack() {
  const key = sessionStorage.getItem(CAME);
  sessionStorage.removeItem(CAME);
  const row = key && rows().find((row) => keyOf(row) === key);
  if (!row) return;
  choose(row);
  row.scrollIntoView({ block: 'center' });
}

function goBack() {
  const found = location.pathname.match(RUN);
  if (found) sessionStorage.setItem(CAME, `${found[1]}/${found[2]}`);
  location.assign(`/${sessionStorage.getItem(LIST) ?? ''}`);
}

// An image needs the token, which no address holds.
async function load(image) {
  const answer = await fetch(image.dataset.src, { headers: { Authorization: `Bearer ${secret}` } });
  if (answer.ok) image.src = URL.createObjectURL(await answer.blob());
}

// What is new, with every row where it is.
function placeInOrder(fresh) {
  const newer = new Map([...fresh.querySelectorAll('.row')].map((row) => [keyOf(row), row]));
  for (const row of rows()) if (newer.has(keyOf(row))) place(row, newer.get(keyOf(row)));
  place(main.querySelector('h1'), fresh.querySelector('main h1'));
}

// Rows have changed places; the reader says when to show it.
function offer() {
  if (document.querySelector('#changes')) return;
  const button = document.createElement('button');
  button.id = 'changes';
  button.type = 'button';
  button.textContent = 'The order changed: show it';
  button.addEventListener('click', apply);
  main.append(button);
}

function apply() {
  if (!held) return;
  const key = keyOf(main.querySelector('.row.chosen') ?? document.body);
  choose(null);
  document.querySelector('#changes')?.remove();
  const fresh = held;
  held = null;
  place(main, fresh.querySelector('main'));
  choose(rows().find((row) => key && keyOf(row) === key));
}

document.addEventListener('pointerleave', apply);
main.addEventListener('pointerout', (event) => {
  if (held && !event.relatedTarget?.closest?.('.rows') && !main.querySelector('.rows .chosen')) apply();
});

// ---- the feed

let socket = null;
let wait = 250;
let heard = 0;

function status(on) {
  live.textContent = on ? '● live' : '○ not live';
  live.classList.toggle('on', on);
}

function concerns(message) {
  const found = location.pathname.match(RUN);
  if (message.type === 'snapshot') return true;
  if (message.type !== 'run' && message.type !== 'gone') return false;
  const run = message.card?.run_id ?? message.run;
  return !found || (message.project === found[1] && run === found[2]);
}

function connect() {
  if (!secret || (socket && socket.readyState <= WebSocket.OPEN)) return;
  socket = new WebSocket(`ws://${location.host}/ws`, ['flow.v1', `flow.token.${secret}`]);
  let isOpen = false;
  socket.addEventListener('open', () => {
    isOpen = true;
    wait = 250;
    heard = Date.now();
    status(true);
    // Pages are asked for as a whole, so the feed only has to say that something changed. Who is to be notified has to know
    // what needs them already.
    const asks = notifies() && !needs ? { list: { limit: MOST }, since: null } : { list: { limit: 0 }, since };
    socket.send(JSON.stringify({ type: 'watch', ...asks }));
  });
  socket.addEventListener('message', (event) => {
    heard = Date.now();
    const message = JSON.parse(event.data);
    heed(message);
    if (concerns(message)) refresh();
  });
  socket.addEventListener('close', () => {
    // A browser does not say that the token was refused; the page does.
    if (!isOpen && secret) refresh();
    status(false);
    setTimeout(connect, wait);
    wait = Math.min(2 * wait, 10_000);
  });
}

setInterval(() => {
  // A connection that is gone without a word.
  if (socket?.readyState === WebSocket.OPEN && Date.now() - heard > 40_000) socket.close();
}, 5000);
// Ages go on without any change.
setInterval(refresh, 30_000);

// ---- notifications of the browser: a run begins to need the reader, who asked to be told

const NEEDS = ['waits', 'in_doubt', 'left_behind'];
const MOST = 1000;
const notify = document.querySelector('#notify');
// Why runs need the reader; unknown before the first snapshot with cards.
let needs = null;

function notifies() {
  return window.Notification?.permission === 'granted';
}

const nameOf = (project, card) => `${project}/${card.run_id}`;
const need = (card) => (NEEDS.includes(card.group) ? card.reason : undefined);

// Takes a message of the feed. What needs the reader already when the page opens is on the page.
function heed(message) {
  if (!notifies()) return;
  if (message.type === 'snapshot') {
    needs ??= new Map();
    for (const { project, cards } of message.projects) {
      for (const card of cards.groups.flatMap((group) => group.cards)) needs.set(nameOf(project, card), need(card));
    }
  } else if (message.type === 'run' && needs) {
    const { project, card } = message;
    const name = nameOf(project, card);
    if (need(card) && need(card) !== needs.get(name)) call(project, card);
    needs.set(name, need(card));
  }
}

function call(project, card) {
  // Several pages may be open: one tag is shown once.
  const shown = new Notification(`${card.run_id} needs you`, { body: card.reason, tag: nameOf(project, card) });
  shown.addEventListener('click', () => {
    window.focus();
    location.assign(`/${project}/runs/${card.run_id}`);
  });
}

// Browsers ask the reader only after a click of theirs.
if (notify) {
  notify.hidden = window.Notification?.permission !== 'default';
  notify.addEventListener('click', async () => {
    const answer = await Notification.requestPermission();
    notify.hidden = answer !== 'default';
    // The next connection asks for the cards.
    if (answer === 'granted') socket?.close();
  });
}

// ---- copying

const said = document.querySelector('#said');
let saying = 0;

// Says something for a while.
function tell(text) {
  said.textContent = text;
  clearTimeout(saying);
  saying = setTimeout(() => (said.textContent = ''), 8000);
}

async function copy(text, button) {
  await navigator.clipboard.writeText(text);
  if (!button) return tell(`Copied: ${text}`);
  const before = button.textContent;
  button.textContent = 'Copied';
  setTimeout(() => (button.textContent = before), 1500);
}

main.addEventListener('click', (event) => {
  const button = event.target.closest('[data-copy]');
  if (button) copy(button.dataset.copy, button);
});

// ---- search, filters and the slider: all of them are in the address

let typing = 0;

function go(form) {
  const query = new URLSearchParams(new FormData(form));
  for (const [name, value] of [...query]) if (!value) query.delete(name);
  const slider = form.elements.at;
  if (slider && slider.value === slider.max) query.delete('at');
  const group = new URLSearchParams(location.search).get('group');
  if (group && form.role === 'search') query.set('group', group);
  history.replaceState(null, '', `${location.pathname}?${query}`.replace(/\?$/, ''));
  refresh();
}

main.addEventListener('submit', (event) => {
  event.preventDefault();
  if (event.target.dataset.ask) ask(event.target);
  else go(event.target);
});
main.addEventListener('input', (event) => {
  const form = event.target.form;
  if (!form || form.dataset.ask) return;
  const output = form.querySelector('output');
  if (output && event.target.type === 'range') output.textContent = `${event.target.value} of ${event.target.max}`;
  if (event.target.type === 'range') return go(form);
  clearTimeout(typing);
  typing = setTimeout(() => {
    typing = 0;
    go(form);
  }, 120);
});

// ---- acting, where the server allows it: the reader is asked again, and what they saw is sent along

const [dialog, asked, typed, trouble, doIt, leave] = ['', '-ask', '-text', '-trouble', '-do', '-leave'].map((end) => document.querySelector(`#confirm${end}`));
let meant = null;

function ask(form) {
  const id = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  // What was typed is shown, and exactly that is sent.
  const text = Object.fromEntries(new FormData(form));
  meant = { form, id, text, sent: form.dataset.sent };
  asked.textContent = form.dataset.ask;
  typed.textContent = Object.values(text).join('\n');
  typed.hidden = !typed.textContent;
  [doIt.textContent, leave.textContent] = [form.dataset.do, form.dataset.leave];
  trouble.textContent = '';
  dialog.showModal();
}

async function act() {
  const mine = meant;
  const { form, id, text } = mine;
  const body = { ...JSON.parse(mine.sent), ...text };
  if ('seen' in body) body.id = id;
  const headers = { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' };
  // Not pressed again before the reader sees what came of it.
  doIt.disabled = true;
  try {
    const answer = await fetch(form.getAttribute('action'), { method: 'POST', headers, body: JSON.stringify(body) });
    trouble.textContent = answer.ok ? '' : ((await answer.json()).error?.message ?? 'It was refused.');
    if (answer.ok) form.reset();
    if (answer.ok) dialog.close();
  } catch {
    trouble.textContent = 'The server does not answer. Try again: nothing is done twice.';
  }
  await refresh();
  // What the reader sees now counts for the next try.
  mine.sent = form.dataset.sent;
  doIt.disabled = false;
  if (dialog.open) doIt.focus();
}

dialog.addEventListener('click', ({ target }) => (target === doIt ? act() : target === leave && dialog.close()));

// ---- the keyboard

const rows = () => [...main.querySelectorAll('.row')];

function choose(row) {
  main.querySelector('.row.chosen')?.classList.remove('chosen');
  if (!row) return;
  row.classList.add('chosen');
  row.querySelector('a')?.focus();
}

function step(by) {
  const all = rows();
  const at = all.findIndex((row) => row.classList.contains('chosen') || row.contains(document.activeElement));
  choose(all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + by))]);
}

function slide(by) {
  const slider = main.querySelector('input[name=at]');
  if (!slider) return;
  slider.value = Number(slider.value) + by;
  slider.dispatchEvent(new Event('input', { bubbles: true }));
}

const PAGES = { r: '/', s: '/sessions', w: '/workflows', i: '/interviews' };
let before = '';

function pressed(key) {
  if (before === 'g' && PAGES[key]) return location.assign(PAGES[key]);
  switch (key) {
    case 'j': return step(1);
    case 'k': return step(-1);
    case '/': return main.querySelector('input[type=search]')?.focus();
    case 'y': {
      const run = main.querySelector('.row.chosen') ?? main.querySelector('.next');
      const button = (run ?? main).querySelector('[data-copy]');
      // What needs a decision has buttons, but no key may take the first one.
      if (run && !run.dataset.command) return tell(`Nothing copied: ${run.dataset.none}.`);
      const command = run?.dataset.command ?? button?.dataset.copy;
      return command && copy(command, button);
    }
    case '[': return slide(-1);
    case ']': return slide(1);
    case '?': return document.querySelector('#keys')?.showModal();
    case 'Escape': return location.pathname === '/' ? apply() : goBack();
    default: return undefined;
  }
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (document.querySelector('dialog[open]')) return;
  const typed = event.target.closest('input:not([type=range]), select, textarea');
  if (typed) {
    if (event.key === 'Escape') event.target.blur();
    return;
  }
  const known = ['j', 'k', '/', 'y', '[', ']', '?', 'Escape'].includes(event.key) || before === 'g';
  if (known) {
    if (event.key !== 'Escape') event.preventDefault();
    pressed(event.key);
  }
  before = event.key;
});

refresh().then(connect);
