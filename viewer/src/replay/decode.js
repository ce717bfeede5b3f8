// Reads a recording: one line of JSON, then a zlib stream of differences from frame to frame, in planes of bytes.

const NEWLINE = 10;

export async function decodeRecording(base64) {
  const bytes = Uint8Array.from(atob(base64.trim()), (letter) => letter.charCodeAt(0));
  const end = bytes.indexOf(NEWLINE);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end)));
  const raw = await inflate(bytes.subarray(end + 1));
  const arrays = {};
  let start = 0;
  for (const entry of header.arrays) {
    const size = entry.shape.reduce((product, length) => product * length, 1) * entry.bytes;
    arrays[entry.name] = summed(raw.subarray(start, start + size), entry);
    start += size;
  }
  const times = Float64Array.from(arrays.times_s.values, (value) => value * arrays.times_s.quantum);
  return { ...header, times, ...arrays };
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Returns whole numbers, one track (all frames of one coordinate) after another.
function summed(planes, { shape, bytes, quantum }) {
  const frames = shape[0];
  const count = planes.length / bytes;
  const values = bytes === 2 ? new Int16Array(count) : new Int32Array(count);
  for (let i = 0; i < count; i++) {
    let step = 0;
    for (let plane = 0; plane < bytes; plane++) step |= planes[plane * count + i] << (8 * plane);
    values[i] = i % frames === 0 ? step : values[i - 1] + step; // a typed array wraps around, as the writer did
  }
  return { values, frames, quantum };
}

// Returns where a time lies: the frame at or before it, and the share of the way to the next one.
export function locate(times, time) {
  let low = 0;
  let high = times.length - 1;
  if (time >= times[high]) return { frame: high, share: 0 };
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle;
    else high = middle;
  }
  return { frame: low, share: Math.max(0, (time - times[low]) / (times[low + 1] - times[low])) };
}

export function sample({ values, frames, quantum }, track, { frame, share }) {
  const i = track * frames + frame;
  const here = values[i];
  return (share === 0 ? here : here + share * (values[i + 1] - here)) * quantum;
}
