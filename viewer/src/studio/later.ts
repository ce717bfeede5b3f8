// Scripts that stand in the page as text until they are needed: whoever never edits a file never waits for its editor.
export function run(name: string): void {
  const text = document.getElementById(name);
  if (!text) return; // it has run already
  const script = document.createElement("script");
  script.textContent = text.textContent;
  text.remove();
  document.head.append(script);
}

// Once what was drawn last is on the screen.
export function painted(then: () => void): void {
  requestAnimationFrame(() => setTimeout(then));
}
