//! Published distributions of transfer sizes: bytes, and the percentage of transfers of at most that
//! size.

/// Web search: measured by Alizadeh et al. 2010 (DCTCP), with the points that pFabric (2013) and
/// HPCC (2019) use. The mean is 1.71 MB; transfers of more than 1 MB carry 95 % of the bytes.
pub(super) const WEB_SEARCH: &[(u32, f64)] = &[
    (0, 0.0),
    (10_000, 15.0),
    (20_000, 20.0),
    (30_000, 30.0),
    (50_000, 40.0),
    (80_000, 53.0),
    (200_000, 60.0),
    (1_000_000, 70.0),
    (2_000_000, 80.0),
    (5_000_000, 90.0),
    (10_000_000, 97.0),
    (30_000_000, 100.0),
];

/// Hadoop at Facebook: measured by Roy et al. 2015, with the points that HPCC (2019) uses. The mean
/// is 120 kB; half of the transfers have at most 700 bytes.
pub(super) const HADOOP: &[(u32, f64)] = &[
    (0, 0.0),
    (100, 1.0),
    (200, 2.0),
    (300, 5.0),
    (350, 15.0),
    (400, 20.0),
    (500, 30.0),
    (600, 40.0),
    (700, 50.0),
    (1_000, 60.0),
    (2_000, 67.0),
    (7_000, 70.0),
    (30_000, 72.0),
    (50_000, 82.0),
    (80_000, 87.0),
    (120_000, 90.0),
    (300_000, 95.0),
    (1_000_000, 97.5),
    (2_000_000, 99.0),
    (10_000_000, 100.0),
];
