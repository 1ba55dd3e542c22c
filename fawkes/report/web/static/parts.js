// Short names for what every part of the page does.

export const $ = (id) => document.getElementById(id);

// What steers a reader or hides text, written as an escape: as `visible` of the commands.
export const visible = (text) => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]/gu, (each) => {
  const code = each.charCodeAt(0).toString(16);
  return code.length < 3 ? `\\x${code.padStart(2, "0")}` : `\\u${code.padStart(4, "0")}`;
});
const shown = (value) => (typeof value === "string" ? visible(value) : value);

export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(key, shown(value));
  element.append(...children.filter((child) => child !== null).map(shown));
  return element;
}
