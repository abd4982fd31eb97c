import { darker, line, shadow, shape, circle, ellipse, wave, type Look } from '../drawing/pen.ts'

export function drawCampfire({ colour, lit, phase }: Look): string {
  const wood = lit('#6a4629')
  const flame = (x: number, height: number, half: number, fill: string, shift: number) => {
    const lean = 9 * wave(phase, shift)
    const tip = height + 10 * wave(phase, shift, 2)
    return shape(
      `M${x - half} -20C${x - half * 1.3} -${height * 0.45} ${x - half * 0.2 + lean} -${height * 0.6} ${x + lean} -${tip}C${x + half * 0.3 + lean} -${height * 0.62} ${x + half * 1.4} -${height * 0.45} ${x + half} -20Q${x} -4 ${x - half} -20Z`,
      fill,
    )
  }
  let sparks = ''
  for (let spark = 0; spark < 6; spark++) {
    const risen = (phase + spark / 6) % 1
    const x = 26 * Math.sin(spark * 2.1 + risen * 4)
    sparks += circle(
      x,
      -100 - 110 * risen,
      3.4 * (1 - risen) + 0.6,
      '#ffd27a',
      `opacity="${(1 - risen).toFixed(2)}"`,
    )
  }
  const glow =
    '<defs><radialGradient id="glow"><stop offset="0.1" stop-color="#ffa844" stop-opacity="0.5"/><stop offset="1" stop-color="#ff8a2c" stop-opacity="0"/></radialGradient></defs>'
  return `${glow}${ellipse(0, -72, 156, 112, 'url(#glow)')}${shadow(170)}${sparks}${flame(-26, 112, 26, colour, 0.1)}${flame(28, 104, 25, colour, 0.6)}${flame(0, 156, 40, colour, 0.35)}${flame(2, 110, 26, '#ffb63a', 0.5)}${flame(0, 66, 15, '#fff0b4', 0.2)}${line('M-72 -8L60 -26', wood, 20)}${line('M72 -8L-60 -26', darker(wood, 0.22), 20)}${circle(-73, -8, 9, lit('#c9a57a'))}${circle(73, -8, 9, lit('#b5905f'))}`
}

/** Three bursts around the origin that open one after the other. */
export function drawFireworks({ colour, phase }: Look): string {
  const bursts = [
    { x: -120, y: -40, reach: 104, shift: 0, fill: colour },
    { x: 126, y: -76, reach: 88, shift: 0.36, fill: '#6fd0ff' },
    { x: 10, y: 70, reach: 92, shift: 0.7, fill: '#ffd25a' },
  ]
  let art = ''
  for (const { x, y, reach, shift, fill } of bursts) {
    const age = (phase + shift) % 1
    const open = 1 - (1 - age) ** 3
    const fade = Math.min(1, 1.5 * (1 - age) + 0.05)
    for (let ray = 0; ray < 18; ray++) {
      const angle = (Math.PI * 2 * ray) / 18
      const far = reach * open * (ray % 2 === 0 ? 1 : 0.7)
      const near = far * (0.35 + 0.5 * age)
      const drop = 22 * age * age
      const [dx, dy] = [Math.cos(angle), Math.sin(angle)]
      art += line(
        `M${(x + dx * near).toFixed(1)} ${(y + dy * near + drop * 0.6).toFixed(1)}L${(x + dx * far).toFixed(1)} ${(y + dy * far + drop).toFixed(1)}`,
        fill,
        4.6 - 2 * age,
        `stroke-opacity="${fade.toFixed(2)}"`,
      )
      art += circle(
        x + dx * far,
        y + dy * far + drop,
        4 - 2 * age,
        '#ffffff',
        `opacity="${(fade * 0.9).toFixed(2)}"`,
      )
    }
    art += circle(x, y, 14 * (1 - open), '#ffffff', `opacity="${(1 - open).toFixed(2)}"`)
  }
  return art
}
