// Short names for what every part of the page does.

export const $ = (id) => document.getElementById(id);

export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}
