// The clock of the replay: where it is, whether it runs, and which moment of the story is being shown.

const LINGER_S = 2.5;
const LINGER_ON = new Set(["alarm", "probed", "decided"]);

export class Player {
  constructor(start, end, moments) {
    Object.assign(this, { start, end, moments });
    this.speed = 1;
    this.linger = true;
    this.playing = false;
    this.rest = 0; // seconds of the viewer's time still to stay where we are
    this.listeners = [];
    this.place(start, this.lastMomentAt(start));
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  place(time, moment) {
    this.time = Math.min(this.end, Math.max(this.start, time));
    this.moment = moment;
  }

  changed() {
    for (const listener of this.listeners) listener(this);
  }

  // -1 before the first moment. Several moments may share a time, so a jump to one says which.
  lastMomentAt(time) {
    return this.moments.findLastIndex((moment) => moment.time_s <= time + 1e-9);
  }

  // Which row of a side's list is current: the last one there at or before the moment shown; -1 before the first.
  rowOf(side) {
    for (let index = this.moment; index >= 0; index--) {
      const row = this.moments[index].rows[side];
      if (row !== null) return row;
    }
    return -1;
  }

  seek(time) {
    this.rest = 0;
    this.place(time, this.lastMomentAt(time));
    this.changed();
  }

  jump(index) {
    if (!this.moments[index]) return;
    this.rest = 0;
    this.place(this.moments[index].time_s, index);
    this.changed();
  }

  step(direction) {
    const next = this.moment + direction;
    if (next < 0) this.seek(this.start);
    else this.jump(next);
  }

  toggle(playing = !this.playing) {
    if (playing && this.time >= this.end) this.place(this.start, this.lastMomentAt(this.start));
    this.playing = playing;
    this.rest = 0;
    this.changed();
  }

  advance(seconds) {
    if (!this.playing) return;
    if (this.rest > 0) {
      this.rest -= seconds;
      return;
    }
    const next = this.moments[this.moment + 1];
    const time = this.time + seconds * this.speed;
    if (next && next.time_s <= time) {
      // One moment at a time, so that none goes by unseen.
      this.place(next.time_s, this.moment + 1);
      if (this.linger && LINGER_ON.has(next.kind)) this.rest = LINGER_S;
    } else {
      this.place(time, this.moment);
      if (this.time >= this.end) this.playing = false;
    }
    this.changed();
  }
}
