// The compatibility date of the function, which its build defines. A change of behavior that existing functions could
// notice is made for functions with a later date only.
export const compatibilityDate = STEAD_COMPATIBILITY_DATE;
