// The file's view, with its editor: a script of its own, which the studio runs when the view is opened for the first time.
import { render } from "preact";
import { File, type FileShown } from "./file";

declare global {
  var showFile: ((place: HTMLElement, shown: FileShown | null) => void) | undefined;
}

globalThis.showFile = (place, shown) => render(shown && <File {...shown} />, place);
