"use strict";
// Elements, and numbers in words. Every text is set as text, so the name of a file cannot become an element.

const SENTENCES = new Map(Object.entries(JSON.parse(document.getElementById("sentences")?.textContent ?? "{}")));

/** Returns a sentence in the language of the page, with values in its places {name}. */
function tr(sentence, values = {}) {
  return (SENTENCES.get(sentence) ?? sentence).replaceAll(/\{(\w+)\}/g, (_, name) => values[name]);
}

const DRAWN = ["svg", "path", "line", "text", "circle", "rect", "g"];

/** Returns an element. attributes: true means present, false and null absent. children: elements, text, or null. */
function make(name, attributes = {}, ...children) {
  const made = DRAWN.includes(name) ? document.createElementNS("http://www.w3.org/2000/svg", name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter(child => child !== null && child !== false));
  return made;
}

/** Makes an element and all below equal to another one, and keeps what is equal: the focus, a video that plays.
 *  Children with data-key keep their elements when others come and go; what has the same data-sign is left alone. */
function morph(old, other) {
  if (old.nodeType !== other.nodeType || old.nodeName !== other.nodeName) return old.replaceWith(other);
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== other.data) old.data = other.data;
    return undefined;
  }
  if (old.dataset?.sign && old.dataset.sign === other.dataset.sign) return undefined;
  for (const { name } of [...old.attributes]) {
    if (!other.hasAttribute(name) && name !== "open") old.removeAttribute(name); // whoever opened it keeps it open
  }
  for (const { name, value } of other.attributes) {
    if (old.getAttribute(name) !== value && name !== "open") old.setAttribute(name, value);
  }
  if (old.type === "checkbox") old.checked = other.hasAttribute("checked");
  morphChildren(old, [...other.childNodes]);
  if (old.nodeName === "SELECT") old.value = other.value;
  return undefined;
}

function morphChildren(old, wanted) {
  const key = node => node.dataset?.key;
  const known = new Map([...old.childNodes].filter(key).map(node => [key(node), node]));
  const kept = new Set(wanted.map(key));
  let place = old.firstChild;
  for (const node of wanted) {
    while (place && key(place) && !kept.has(key(place))) place = removed(place);
    const same = key(node) ? known.get(key(node)) : place && !key(place) ? place : null;
    if (!same) {
      old.insertBefore(node, place);
    } else if (same === place) {
      place = place.nextSibling;
      morph(same, node);
    } else {
      old.insertBefore(same, place);
      morph(same, node);
    }
  }
  while (place) place = removed(place);
}

function removed(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

/** Returns a number with four digits, or whole from 10,000 on, and a count with all of its digits; a dash if there is
 *  none. */
function short(value) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en");
  if (Math.abs(value) >= 1e4 && Math.abs(value) < 1e9) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(4)));
}

/** Returns a duration as 1:05 or 2:01:05. */
function clock(seconds) {
  const rest = Math.round(seconds), two = number => String(number).padStart(2, "0");
  const hours = Math.floor(rest / 3600), minutes = Math.floor(rest / 60) % 60;
  return hours ? `${hours}:${two(minutes)}:${two(rest % 60)}` : `${minutes}:${two(rest % 60)}`;
}

/** Returns a time in the past. */
function ago(seconds) {
  const whole = size => ({ count: Math.floor(seconds / size) });
  return seconds >= 172800 ? tr("{count} days ago", whole(86400)) : seconds >= 7200 ? tr("{count} h ago", whole(3600))
    : seconds >= 120 ? tr("{count} min ago", whole(60)) : tr("{count} s ago", whole(1));
}

function size(bytes) {
  return bytes < 1e3 ? `${bytes} B` : bytes < 1e6 ? `${short(bytes / 1e3)} kB` : `${short(bytes / 1e6)} MB`;
}
