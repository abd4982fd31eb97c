/** A colour as `#rrggbb`. */
export type Colour = string

export type Channels = readonly [red: number, green: number, blue: number]

export function channelsOf(colour: Colour): Channels {
  const value = Number.parseInt(colour.slice(1), 16)
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255]
}

function colourOf(channels: Channels): Colour {
  return `#${channels.map((channel) => hexByte(channel)).join('')}`
}

function hexByte(channel: number): string {
  return Math.round(Math.min(255, Math.max(0, channel)))
    .toString(16)
    .padStart(2, '0')
}

export function mix(from: Colour, to: Colour, amount: number): Colour {
  const [red, green, blue] = channelsOf(from)
  const [otherRed, otherGreen, otherBlue] = channelsOf(to)
  return colourOf([
    red + (otherRed - red) * amount,
    green + (otherGreen - green) * amount,
    blue + (otherBlue - blue) * amount,
  ])
}

/** Rotates the hue with the standard luminance-preserving matrix. */
export function rotateHue(colour: Colour, degrees: number): Colour {
  const [red, green, blue] = channelsOf(colour)
  const cosine = Math.cos((degrees * Math.PI) / 180)
  const sine = Math.sin((degrees * Math.PI) / 180)
  return colourOf([
    red * (0.213 + cosine * 0.787 - sine * 0.213) +
      green * (0.715 - cosine * 0.715 - sine * 0.715) +
      blue * (0.072 - cosine * 0.072 + sine * 0.928),
    red * (0.213 - cosine * 0.213 + sine * 0.143) +
      green * (0.715 + cosine * 0.285 + sine * 0.14) +
      blue * (0.072 - cosine * 0.072 - sine * 0.283),
    red * (0.213 - cosine * 0.213 - sine * 0.787) +
      green * (0.715 - cosine * 0.715 + sine * 0.715) +
      blue * (0.072 + cosine * 0.928 + sine * 0.072),
  ])
}
