import { useEffect, useState } from 'react'

/** The value, when it has not changed for a moment. Requests follow it instead of every key press. */
export const useDebounced = <Value>(value: Value, delayMs = 350): Value => {
  const [late, setLate] = useState(value)
  const text = JSON.stringify(value)
  useEffect(() => {
    const timer = setTimeout(() => setLate(JSON.parse(text) as Value), delayMs)
    return () => clearTimeout(timer)
  }, [text, delayMs])
  return late
}
