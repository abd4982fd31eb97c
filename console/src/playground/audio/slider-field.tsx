import { Label } from 'react-aria-components/Label'
import { Slider, SliderThumb, SliderTrack } from 'react-aria-components/Slider'

import styles from './slider-field.module.css'

interface SliderFieldProps {
  label: string
  min: number
  max: number
  step: number
  value: number
  onChange: (value: number) => void
  format: (value: number) => string
}

export const SliderField = ({ label, min, max, step, value, onChange, format }: SliderFieldProps) => (
  <Slider
    className={styles['slider'] ?? ''}
    minValue={min}
    maxValue={max}
    step={step}
    value={value}
    onChange={(chosen) => onChange(typeof chosen === 'number' ? chosen : (chosen[0] ?? min))}
  >
    <div className={styles['head']}>
      <Label>{label}</Label>
      <span className="muted small-text">{format(value)}</span>
    </div>
    <SliderTrack className={styles['track'] ?? ''}>
      <span
        className={styles['fill']}
        aria-hidden
        ref={(fill) => fill?.style.setProperty('width', `${((value - min) / (max - min)) * 100}%`)}
      />
      <SliderThumb className={styles['thumb'] ?? ''} />
    </SliderTrack>
  </Slider>
)
