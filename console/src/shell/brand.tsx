import styles from './brand.module.css'

export const Brand = ({ size = 22 }: { size?: number }) => (
  <svg viewBox="0 0 24 24" width={size} height={size} aria-hidden className={styles['brand']}>
    <rect width="24" height="24" rx="6" className={styles['ground']} />
    <path d="M6 6.5v11M9 6.5v11" className={styles['leaves']} />
    <path d="M12.2 6.9 18.6 12l-6.4 5.1z" className={styles['play']} />
  </svg>
)
